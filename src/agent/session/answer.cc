#include "agent/session/answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"

namespace dove::agent {

using Json = nlohmann::json;

Json answer_object(const wire::Response& answer) {
  Result<Json> body = codec::parse_json(answer.body, std::size_t{64} << 20);
  return body.ok() && body->is_object() ? std::move(body).value() : Json::object();
}

std::string answer_text(const Json& object, const char* name) {
  const Json value = object.value(name, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

bool says_full(const wire::Response& answer, const Json& body) {
  if (answer.status != 503) return false;
  const std::string code = answer_text(body, "code");
  return code == "disk_full" || code == "too_many_reports";
}

bool is_elsewhere(const Error& error) {
  return error.code == "not_leader" || error.code == "lease_over";
}

Error answer_refusal(const wire::Response& answer, const Json& body, const char* code) {
  const std::string detail = answer_text(body, "detail");
  const Error elsewhere{ErrorKind::kTimeout, answer_text(body, "code"), detail, ""};
  if (answer.status == 503 && is_elsewhere(elsewhere)) return elsewhere;
  return Error{wire::kind_of_status(answer.status), code,
               fmt::format("the controller answered {}: {}", answer.status,
                           detail.empty() ? "no reason given" : detail),
               ""};
}

bool is_distrust(const Error& error) {
  if (is_cut_off(error)) return false;
  return error.code.starts_with("certificate_") || error.code == "not_tls" ||
         error.code == "handshake_failed";
}

bool is_cut_off(const Error& error) {
  return error.kind == ErrorKind::kDenied && error.code == "certificate_refused";
}

}  // namespace dove::agent
