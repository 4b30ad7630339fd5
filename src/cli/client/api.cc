#include "cli/client/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/terminal/terminal.h"
#include "codec/json.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kAnswerBytesMax = 256 * 1024 * 1024;

wire::ClientOptions options_of(const Endpoint& endpoint) {
  wire::ClientOptions options;
  options.bearer_token = endpoint.token;
  options.ca_file = endpoint.ca_file;
  options.unix_socket = endpoint.unix_socket;
  return options;
}

std::string member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<json> parse_answer(const std::string& body) {
  if (body.empty()) return json();
  Result<json> parsed = codec::parse_json(body, kAnswerBytesMax);
  if (parsed.ok()) return parsed;
  return Error{ErrorKind::kInternal, "bad_answer",
               "the server's answer is not JSON: is this the URL of a dove server?", ""};
}

// Whoever is told that they ask too much (429) asks again when they are told to, for a while.
Result<wire::Response> patiently(const std::function<Result<wire::Response>()>& call) {
  constexpr int kTries = 30;
  constexpr int kWaitMax_s = 10;
  for (int tried = 1;; ++tried) {
    Result<wire::Response> answer = call();
    if (!answer.ok() || answer->status != 429 || tried == kTries) return answer;
    const int wait_s = std::atoi(std::string(answer->header("Retry-After")).c_str());
    std::this_thread::sleep_for(std::chrono::seconds(std::clamp(wait_s, 1, kWaitMax_s)));
  }
}

}  // namespace

Error error_of_problem(int status, std::string_view body) {
  Error error{wire::kind_of_status(status), fmt::format("http_{}", status), "", ""};
  const Result<json> parsed = codec::parse_json(body, kAnswerBytesMax);
  if (parsed.ok() && parsed->is_object()) {
    const std::string code = member(*parsed, "code");
    if (!code.empty()) error.code = code;
    error.message = member(*parsed, "detail");
    if (error.message.empty()) error.message = member(*parsed, "title");
    error.field = member(*parsed, "field");
    if (error.field == "id") error.field.clear();  // of the path: the message names it
  }
  if (error.message.empty()) {
    error.message = fmt::format("the server answered {} {}", status, wire::reason_phrase(status));
  }
  if (status == 401 && error.code == "http_401") {
    error.message += "; set DOVE_TOKEN or DOVE_TOKEN_FILE";
  }
  return error;
}

std::string job_target(const std::string& job, const std::string& rest) {
  return "/v1/jobs/" + wire::percent_encode(job) + rest;
}

std::string node_target(const std::string& node, const std::string& rest) {
  return "/v1/nodes/" + wire::percent_encode(node) + rest;
}

Result<Api> Api::connect(const Invocation& invocation) {
  TRY_ASSIGN(Endpoint endpoint, find_endpoint(invocation));
  return Api(std::move(endpoint));
}

Api::Api(Endpoint endpoint)
    : endpoint_(std::move(endpoint)),
      client_(endpoint_.unix_socket.empty() ? endpoint_.url : "http://localhost",
              options_of(endpoint_)) {}

wire::Pairs Api::headers_with(const wire::Pairs& more) const {
  wire::Pairs headers;
  if (wire::find_header(more, "Accept") == nullptr)
    headers.emplace_back("Accept", "application/json");
  // Only the administrator's token may speak for somebody.
  const std::string user = environment_value("DOVE_USER");
  headers.emplace_back("X-Dove-User", user.empty() ? local_user() : user);
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

Error Api::failed(const Error& transport) const {
  Error error = transport;
  if (error.kind == ErrorKind::kUnavailable) {
    error.message += fmt::format(" (the URL is from {})", endpoint_.origin);
  }
  return error;
}

Result<json> Api::get(const std::string& target) { return send("GET", target, json()); }

Result<json> Api::send(const std::string& method, const std::string& target, const json& body,
                       const wire::Pairs& headers) {
  wire::Pairs all = headers_with(headers);
  std::string text;
  if (!body.is_null()) {
    text = codec::dump_json(body);
    all.emplace_back("Content-Type", "application/json");
  }
  const Result<wire::Response> answer =
      patiently([&] { return client_.call(method, target, text, all); });
  if (!answer.ok()) return failed(answer.error());
  if (answer->status >= 400) return error_of_problem(answer->status, answer->body);
  return parse_answer(answer->body);
}

Result<json> Api::send_bytes(const std::string& target, const std::string& bytes,
                             const std::string& method) {
  wire::Pairs all = headers_with({{"Content-Type", "application/octet-stream"}});
  const Result<wire::Response> answer =
      patiently([&] { return client_.call(method, target, bytes, all); });
  if (!answer.ok()) return failed(answer.error());
  if (answer->status >= 400) return error_of_problem(answer->status, answer->body);
  return parse_answer(answer->body);
}

Result<std::string> Api::raw(const std::string& target) {
  Result<wire::Response> answer =
      patiently([&] { return client_.call("GET", target, "", headers_with({})); });
  if (!answer.ok()) return failed(answer.error());
  if (answer->status >= 400) return error_of_problem(answer->status, answer->body);
  return std::move(answer->body);
}

Result<void> Api::stream(const std::string& method, const std::string& target,
                         const std::string& body, const wire::Pairs& headers,
                         const std::function<bool(std::string_view)>& on_line) {
  wire::Pairs all = headers_with(headers);
  if (!body.empty()) all.emplace_back("Content-Type", "application/json");
  return streamed(client_.stream(method, target, all, body, on_line));
}

Result<void> Api::stream_bytes(const std::string& target,
                               const std::function<bool(std::string_view)>& on_bytes) {
  return streamed(client_.stream_bytes("GET", target, headers_with({}), "", on_bytes));
}

Result<void> Api::streamed(const Result<void>& done) const {
  if (done.ok()) return done;
  const Error& error = done.error();
  if (error.code.starts_with("http_")) {
    return error_of_problem(std::atoi(error.code.c_str() + 5), error.message);
  }
  return failed(error);
}

}  // namespace dove::cli
