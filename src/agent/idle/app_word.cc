#include "agent/idle/app_word.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "codec/quantity.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAnswerBytesMax = 1 << 20;
constexpr std::size_t kListMax = 4096;  // kernels, terminals
constexpr std::string_view kTerminals = "/api/terminals";
constexpr std::string_view kJupyter = "jupyter";
constexpr std::string_view kCodeServer = "code_server";
constexpr std::int64_t kCodeServerBeat_us = 60'000'000;

Error bad_answer(std::string message) {
  return Error{ErrorKind::kInvalid, "bad_answer", std::move(message), "app.activity"};
}

Error out_of_time() {
  return Error{ErrorKind::kTimeout, "timeout", "the app did not answer in time", "app.activity"};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int number() const { return fd_; }

 private:
  int fd_;
};

// Whether the descriptor is ready before the time is over.
bool wait_for(const Descriptor& descriptor, short events, Clock::time_point until) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{descriptor.number(), events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Result<Descriptor> connect_port(const AppSpec& app, const ForwardTarget& target,
                                Clock::time_point until) {
  TRY_ASSIGN(const TaskPort port,
             find_task_port(target.marks, static_cast<std::uint16_t>(app.port)));
  for (const SocketAddress& address : port.addresses) {
    TRY_ASSIGN(const int fd, open_in_network(port, address.bytes.ss_family));
    Descriptor descriptor(fd);
    const auto* const name = reinterpret_cast<const sockaddr*>(&address.bytes);
    if (::connect(fd, name, address.size) != 0) {
      if (errno != EINPROGRESS || !wait_for(descriptor, POLLOUT, until)) continue;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) continue;
    }
    if (is_unchanged(port)) return descriptor;
  }
  return Error{ErrorKind::kUnavailable, "forward_failed", "the app does not take connections",
               "app.port"};
}

Result<Descriptor> connect_app(const AppSpec& app, const ForwardTarget& target,
                               Clock::time_point until) {
  if (app.port != 0) return connect_port(app, target, until);
  TRY_ASSIGN(const int fd, connect_task_socket(target.sockets, app.socket));
  return Descriptor(fd);
}

// HTTP/1.0: the answer is not in pieces, and its end is that of the connection.
Result<std::string> get(const AppSpec& app, const ForwardTarget& target, const std::string& path,
                        Clock::time_point until) {
  TRY_ASSIGN(const Descriptor descriptor, connect_app(app, target, until));
  std::string_view rest;
  const std::string request = fmt::format(
      "GET {} HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
      path);
  for (rest = request; !rest.empty();) {
    if (!wait_for(descriptor, POLLOUT, until)) return out_of_time();
    const ssize_t sent = ::send(descriptor.number(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return bad_answer(std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
  std::string answer;
  char some[16 * 1024];
  for (;;) {
    if (!wait_for(descriptor, POLLIN, until)) return out_of_time();
    const ssize_t got = ::recv(descriptor.number(), some, sizeof some, 0);
    if (got == 0) break;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return bad_answer(std::strerror(errno));
    if (got > 0) answer.append(some, static_cast<std::size_t>(got));
    if (answer.size() > kAnswerBytesMax) return bad_answer("the app's answer is too long");
  }
  return body_of_answer(answer);
}

Result<std::int64_t> instant_of(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object.at(name).is_string()) {
    return bad_answer(fmt::format("the app's answer has no text '{}'", name));
  }
  TRY_ASSIGN(const Instant at, codec::parse_instant(object.at(name).get<std::string>()));
  return at.us;
}

// Each kernel and each terminal says when it was used last. The whole server's time is of no use
// here: the page's own polling counts for it.
Result<AppWord> word_of_jupyter(const Json& kernels, const Json& terminals) {
  AppWord word;
  for (const Json* list : {&kernels, &terminals}) {
    if (!list->is_array() || list->size() > kListMax) return bad_answer("the app gave no list");
    for (const Json& one : *list) {
      TRY_ASSIGN(const std::int64_t at_us, instant_of(one, "last_activity"));
      word.last_us = std::max(word.last_us, at_us);
      const auto state = one.find("execution_state");
      word.in_use = word.in_use || (state != one.end() && *state == "busy");
    }
  }
  return word;
}

// It notes use once a minute: whatever came within the minute after a beat is in no answer until
// the next one, so all of that minute counts.
Result<AppWord> word_of_code_server(const Json& health) {
  const auto beat = health.is_object() ? health.find("lastHeartbeat") : health.end();
  if (!health.is_object() || beat == health.end() || !beat->is_number_unsigned()) {
    return bad_answer("the app's answer has no number 'lastHeartbeat'");
  }
  const auto beat_ms = std::min<std::uint64_t>(beat->get<std::uint64_t>(), INT64_MAX / 2000);
  if (beat_ms == 0) return AppWord{};
  return AppWord{false, static_cast<std::int64_t>(beat_ms) * 1000 + kCodeServerBeat_us};
}

}  // namespace

std::vector<std::string> activity_paths(const AppSpec& app) {
  if (app.activity.empty()) return {};
  if (app.activity == kJupyter) {
    return {"/api/kernels?no_track_activity=1", "/api/terminals?no_track_activity=1"};
  }
  if (app.activity == kCodeServer) return {"/healthz"};
  const bool is_path =
      app.activity.starts_with('/') && std::all_of(app.activity.begin(), app.activity.end(),
                                                   [](char c) { return c > ' ' && c < '\x7f'; });
  return is_path ? std::vector<std::string>{app.activity} : std::vector<std::string>{};
}

Result<std::string> body_of_answer(std::string_view answer) {
  const std::size_t head = answer.find("\r\n\r\n");
  const std::size_t space = answer.find(' ');
  if (!answer.starts_with("HTTP/1.") || head == std::string_view::npos || space > head) {
    return bad_answer("the app does not speak HTTP");
  }
  const std::string_view status = answer.substr(space + 1, 3);
  if (status != "200") return bad_answer(fmt::format("the app answered with {}", status));
  return std::string(answer.substr(head + 4));
}

Result<AppWord> read_app_word(const AppSpec& app, const std::vector<std::string>& bodies) {
  std::vector<Json> answers;
  for (const std::string& body : bodies) {
    TRY_ASSIGN(Json answer, codec::parse_json(body, kAnswerBytesMax));
    answers.push_back(std::move(answer));
  }
  if (answers.size() != activity_paths(app).size() || answers.empty()) {
    return bad_answer("the app was not asked");
  }
  if (app.activity == kJupyter) return word_of_jupyter(answers[0], answers[1]);
  if (app.activity == kCodeServer) return word_of_code_server(answers[0]);
  TRY_ASSIGN(const std::int64_t at_us, instant_of(answers[0], "last_activity"));
  return AppWord{false, at_us};
}

Result<AppWord> ask_app(const AppSpec& app, const ForwardTarget& target,
                        std::chrono::milliseconds limit) {
  const Clock::time_point until = Clock::now() + limit;
  std::vector<std::string> bodies;
  for (const std::string& path : activity_paths(app)) {
    Result<std::string> body = get(app, target, path, until);
    // A server without terminals has no list of them.
    const bool may_lack = path.starts_with(kTerminals) && !body.ok();
    if (may_lack && body.error().code == "bad_answer") body = std::string("[]");
    if (!body.ok()) return body.error();
    bodies.push_back(std::move(body).value());
  }
  return read_app_word(app, bodies);
}

}  // namespace dove::agent
