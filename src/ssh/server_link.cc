#include "ssh/server_link.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "codec/json.h"
#include "files/filled_file.h"
#include "wire/client.h"

namespace dove::ssh {
namespace {

using Json = nlohmann::json;

constexpr int kLimit_ms = 10'000;
constexpr int kConnect_ms = 3'000;  // to one of several
constexpr std::size_t kAnswerBytesMax = 64 << 10;
constexpr std::size_t kProblemBytesMax = 1 << 20;

using SharedPlace = std::atomic<std::uint32_t>;
static_assert(SharedPlace::is_always_lock_free);

// Memory that a process has in common with those that it forks.
std::shared_ptr<SharedPlace> shared_place() {
  void* const memory = ::mmap(nullptr, sizeof(SharedPlace), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED, "there is a page of memory");
  return {new (memory) SharedPlace(0),
          [](SharedPlace* place) { ::munmap(place, sizeof(SharedPlace)); }};
}

// Those of one cluster, from the one that is to be asked on.
std::string urls_of(const wire::Controllers& all) {
  std::string urls;
  for (std::size_t i = 0; i < all.size(); ++i) {
    urls += (i == 0 ? "" : ",") + all[(all.at() + i) % all.size()].url;
  }
  return urls;
}

void go_to(wire::Controllers& all, const std::string& url) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].url == url) return all.go_to(i);
  }
}

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
  std::string authorities_pem;
  if (!settings.ca_file.empty()) {
    TRY_ASSIGN(authorities_pem, files::read_filled(settings.ca_file, kAnswerBytesMax));
  }
  TRY_ASSIGN(wire::Controllers controllers, wire::Controllers::read(settings.url, authorities_pem));
  link.controllers_ = std::make_shared<wire::Controllers>(std::move(controllers));
  link.leader_ = shared_place();
  link.settings_ = std::move(settings);
  return link;
}

Result<std::string> ServerLink::call(const std::string& method, const std::string& target,
                                     const std::string& body) const {
  wire::ClientOptions options;
  options.timeout_ms = kLimit_ms;
  options.connect_timeout_ms = has_several() ? kConnect_ms : kLimit_ms;
  options.bearer_token = settings_.token;
  options.ca_file = settings_.ca_file;
  options.response_bytes_max = kAnswerBytesMax;
  controllers_->go_to(leader_->load());
  wire::Client client(urls_of(*controllers_), options);
  const Result<wire::Response> answer =
      client.call(method, target, body, {{"Content-Type", "application/json"}});
  go_to(*controllers_, client.base_url());
  if (!answer.ok()) return answer.error();
  if (answer->status >= 300) return problem_of(answer->status, answer->body);
  return answer->body;
}

Result<void> ServerLink::announce(const Announcement& announcement) const {
  const Json body{{"address", announcement.address},
                  {"port", announcement.port},
                  {"host_keys", announcement.host_keys}};
  const Result<std::string> done = call("PUT", "/v1/ssh-gateway", codec::dump_json(body));
  leader_->store(static_cast<std::uint32_t>(controllers_->at()));
  return done.ok() ? Result<void>() : Result<void>(done.error());
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
  request.target = target;
  request.headers = {{"Authorization", "Bearer " + token}};
  return wire::connect_to_leader(loop, controllers_, std::move(request), std::move(callbacks));
}

std::string message_of_closed(const Error& closed) {
  if (closed.code.starts_with("http_")) {
    return problem_of(std::atoi(closed.code.c_str() + 5), closed.message).message;
  }
  return "the connection to the server broke";
}

}  // namespace dove::ssh
