#include "ssh/server_link.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "files/text_file.h"
#include "wire/client.h"
#include "wire/tls/tls.h"

namespace dove::ssh {
namespace {

using Json = nlohmann::json;

constexpr int kLimit_ms = 10'000;
constexpr std::size_t kAnswerBytesMax = 64 << 10;
constexpr std::size_t kProblemBytesMax = 1 << 20;

Error problem_of(int status, std::string_view body) {
  Error error{wire::kind_of_status(status), "bad_answer",
              "the server refuses, and does not say why", ""};
  const Result<Json> problem = codec::parse_json(body, kProblemBytesMax);
  if (!problem.ok() || !problem->is_object()) return error;
  const auto text = [&](const char* name) {
    const auto found = problem->find(name);
    return found != problem->end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!text("code").empty()) error.code = text("code");
  if (!text("detail").empty()) error.message = text("detail");
  return error;
}

}  // namespace

Result<ServerLink> ServerLink::make(ServerSettings settings) {
  ServerLink link;
  TRY_ASSIGN(const wire::ServerUrl url, wire::parse_server_url(settings.url));
  link.address_ = {url.host, url.port, nullptr};
  link.prefix_ = url.prefix;
  if (url.secure) {
    wire::TlsClientOptions options;
    if (!settings.ca_file.empty()) {
      TRY_ASSIGN(options.authorities_pem, files::read_text(settings.ca_file, kAnswerBytesMax));
    }
    TRY_ASSIGN(link.address_.tls, wire::Tls::for_client(options));
  }
  link.settings_ = std::move(settings);
  return link;
}

Result<std::string> ServerLink::call(const std::string& method, const std::string& target,
                                     const std::string& body) const {
  wire::ClientOptions options;
  options.connect_timeout_ms = options.timeout_ms = kLimit_ms;
  options.bearer_token = settings_.token;
  options.ca_file = settings_.ca_file;
  options.response_bytes_max = kAnswerBytesMax;
  wire::Client client(settings_.url, options);
  TRY_ASSIGN(const wire::Response answer,
             client.call(method, target, body, {{"Content-Type", "application/json"}}));
  if (answer.status >= 300) return problem_of(answer.status, answer.body);
  return answer.body;
}

Result<void> ServerLink::announce(const Announcement& announcement) const {
  const Json body{{"address", announcement.address},
                  {"port", announcement.port},
                  {"host_keys", announcement.host_keys}};
  TRY(call("PUT", "/v1/ssh-gateway", codec::dump_json(body)));
  return {};
}

Result<Entry> ServerLink::sign_in(const std::string& key, const std::string& job,
                                  const std::string& address) const {
  const Json asked{{"key", key}, {"job", job}, {"address", address}};
  TRY_ASSIGN(const std::string body, call("POST", "/v1/ssh-sign-ins", codec::dump_json(asked)));
  TRY_ASSIGN(const Json answer, codec::parse_json(body, kAnswerBytesMax));
  try {
    return Entry{answer.at("user").get<std::string>(), answer.at("token").get<std::string>()};
  } catch (const Json::exception&) {
    return Error{ErrorKind::kInternal, "bad_answer", "the server's answer cannot be read", ""};
  }
}

std::unique_ptr<wire::WebSocket> ServerLink::open(wire::Loop& loop, const std::string& token,
                                                  const std::string& target,
                                                  wire::WebSocketCallbacks callbacks) const {
  wire::Request request;
  request.method = "GET";
  request.target = prefix_ + target;
  request.headers = {{"Authorization", "Bearer " + token}};
  return wire::connect_web_socket(loop, address_, std::move(request), std::move(callbacks));
}

std::string message_of_closed(const Error& closed) {
  if (closed.code.starts_with("http_")) {
    return problem_of(std::atoi(closed.code.c_str() + 5), closed.message).message;
  }
  return "the connection to the server broke";
}

}  // namespace dove::ssh
