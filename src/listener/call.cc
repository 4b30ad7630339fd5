#include "listener/call.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_fields.h"

namespace dove::listener {

using Json = nlohmann::json;

constexpr std::size_t kBodyBytesMax = 64 << 20;  // the server's limits come first

void Call::reply(int status, const Json& body, wire::Pairs headers) const {
  headers.emplace_back("Content-Type", "application/json");
  responder->send(wire::Response{status, std::move(headers), codec::dump_json(body) + "\n"});
}

void Call::fail(const Error& error) const {
  if (refused) refused(error);
  responder->send(wire::problem(error));
}

void Call::fail_agent(const Error& error) const {
  if (error.kind == ErrorKind::kExhausted) {
    responder->send(wire::problem(503, error));
  } else {
    fail(error);
  }
}

Result<Json> Call::json_body() const {
  if (request.body.empty()) return Json::object();
  TRY_ASSIGN(Json body, codec::parse_json(request.body, kBodyBytesMax, values_max));
  if (!body.is_object()) {
    return invalid("not_an_object", "the body must be a JSON object: {...}", "");
  }
  return body;
}

Result<void> Call::read_body(const std::function<void(codec::JsonFields&)>& read) const {
  TRY_ASSIGN(const Json body, json_body());
  codec::Failure failure;
  codec::JsonFields fields(body, "", failure);
  read(fields);
  fields.done();
  if (failure.any()) return failure.error();
  return {};
}

Result<std::int64_t> Call::query_number(const char* name, std::int64_t otherwise,
                                        std::int64_t least, std::int64_t most) const {
  const std::string* text = request.find_query(name);
  if (text == nullptr) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < least || value > most) {
    return invalid("bad_parameter",
                   fmt::format("{} is a whole number from {} to {}", name, least, most), name);
  }
  return value;
}

std::string Call::query_text(const char* name) const {
  const std::string* text = request.find_query(name);
  return text == nullptr ? "" : *text;
}

bool Call::query_flag(const char* name) const {
  const std::string text = query_text(name);
  return text == "1" || text == "true";
}

Cause Call::cause() const {
  Cause cause;
  cause.principal = caller.user;
  cause.request_id = std::string(request.header("X-Request-Id")).substr(0, 128);
  return cause;
}

Error not_found(const char* what, std::string_view name) {
  return Error{ErrorKind::kNotFound, fmt::format("no_such_{}", what),
               fmt::format("there is no {} {}", what, name), ""};
}

Error invalid(std::string code, std::string message, std::string field) {
  return Error{ErrorKind::kInvalid, std::move(code), std::move(message), std::move(field)};
}

}  // namespace dove::listener
