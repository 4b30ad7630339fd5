#include "wire/server.h"

#include <ctime>

#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "wire/connection.h"
#include "wire/server_state.h"
#include "wire/unix/unix_socket.h"

namespace dove::wire {

ServerState::ServerState(Loop& of, ServerLimits given, Handler fn)
    : loop(of),
      limits(std::move(given)),
      handler(std::move(fn)),
      open_(telemetry::metrics().gauge("dove_http_connections", "Open connections.")),
      took_(telemetry::metrics().histogram("dove_http_request_seconds",
                                           "From a request's last byte to its answer.")),
      failed_(telemetry::metrics().counter("dove_tls_handshakes_failed_total",
                                           "Connections that ended before TLS stood.")) {
  for (const char* hundreds : {"1xx", "2xx", "3xx", "4xx", "5xx"}) {
    answers_.push_back(&telemetry::metrics().counter(
        "dove_http_requests_total", "Answers given, by status.", {{"status", hundreds}}));
  }
}

namespace {

// "192.0.2.7" of "192.0.2.7:40122"; "" of this machine.
std::string host_of(const std::string& peer) {
  const std::string host = peer.substr(0, peer.rfind(':'));
  return host.starts_with("127.") || host == "::1" || host == "[::1]" ||
                 host == "[::ffff:127.0.0.1]"
             ? ""
             : host;
}

constexpr std::size_t kRefusedMax = 64;  // beyond it they are closed without a word

}  // namespace

bool ServerState::enter(const std::string& peer) {
  const std::string host = host_of(peer);
  if (host.empty()) return true;
  std::size_t& count = peers[host];
  if (count >= limits.peer_max) return false;
  ++count;
  return true;
}

void ServerState::leave(const std::string& peer) {
  const auto found = peers.find(host_of(peer));
  if (found != peers.end() && --found->second == 0) peers.erase(found);
}

void ServerState::accept(std::unique_ptr<Stream> stream) {
  if (connections.size() >= limits.connections_max + kRefusedMax) return;
  const bool counts = enter(stream->peer_address());
  if (!counts && ++refused_peers_ > kRefusedMax) {
    --refused_peers_;
    return;
  }
  auto connection = std::make_shared<Connection>(shared_from_this(), std::move(stream));
  connections.insert(connection);
  open_.add(1);
  if (!counts) {
    uncounted.insert(connection.get());
    connection->refuse(429, Error{ErrorKind::kUnavailable,
                                  kRateLimited,
                                  "your address has all the connections it may have; close some, "
                                  "and try again later",
                                  {}});
  } else if (connections.size() > limits.connections_max) {
    connection->refuse(503, Error{ErrorKind::kUnavailable,
                                  "too_many_connections",
                                  "the server has all the connections it may have; try again later",
                                  {}});
  } else {
    connection->start();
  }
}

// Whoever does not finish the handshake never becomes a connection.
void ServerState::shake_hands(std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls) {
  if (shutting_down || shaking.size() >= limits.handshakes_max) return;
  const std::string peer = plain->peer_address();
  if (!enter(peer)) return;
  const std::uint64_t id = ++last_handshake;
  shaking[id] =
      accept_tls(loop, std::move(plain), std::move(tls), limits.header_timeout,
                 [weak = weak_from_this(), id, peer](Result<std::unique_ptr<Stream>> stream) {
                   const auto state = weak.lock();
                   if (state == nullptr) return;
                   state->leave(peer);
                   state->shaking.erase(id);
                   if (stream.ok() && !state->shutting_down) {
                     return state->accept(std::move(stream).value());
                   }
                   state->failed_.add();
                 });
}

void ServerState::remove(const std::shared_ptr<Connection>& connection) {
  if (connections.erase(connection) > 0) {
    open_.add(-1);
    if (uncounted.erase(connection.get()) > 0) {
      --refused_peers_;
    } else {
      leave(connection->peer());
    }
  }
  if (shutting_down && connections.empty() && on_drained) {
    grace.cancel();
    loop.post(std::exchange(on_drained, nullptr));
  }
}

void ServerState::drop_all() {
  const auto all = connections;
  for (const auto& connection : all) connection->drop();
}

const std::string& ServerState::date() {
  const std::int64_t now_s = telemetry::now_us() / 1'000'000;
  if (now_s != date_s_) {
    date_s_ = now_s;
    const std::time_t seconds = now_s;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[64];
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }
  return date_;
}

ParserLimits ServerState::parser_limits(const Stream& peer) const {
  return {limits.header_bytes,
          [this](const Request& head) {
            return limits.admit ? limits.admit(head) : Result<std::size_t>(limits.body_bytes);
          },
          peer.peer_address(), peer.peer_identity()};
}

void ServerState::count_answer(int status, std::int64_t took_us) {
  const int hundreds = status / 100 - 1;
  if (hundreds >= 0 && hundreds < 5) answers_[static_cast<std::size_t>(hundreds)]->add();
  took_.observe(took_us);
}

Server::Server(Loop& loop, ServerLimits limits, Handler handler)
    : state_(std::make_shared<ServerState>(loop, std::move(limits), std::move(handler))) {}

Server::~Server() {
  state_->grace.cancel();
  state_->on_drained = nullptr;
  state_->listeners.clear();
  state_->unix_listener.reset();
  state_->elsewhere.reset();
  state_->shaking.clear();
  state_->drop_all();
}

Result<void> Server::listen(const std::string& host, std::uint16_t port,
                            std::shared_ptr<const Tls> tls) {
  if (World* world = state_->loop.world()) {
    state_->elsewhere = world->listen(port, state_->handler);
    return {};
  }
  const auto on_accept = [weak = std::weak_ptr<ServerState>(state_),
                          tls](std::unique_ptr<Stream> stream) {
    const auto state = weak.lock();
    if (state == nullptr) return;
    if (tls == nullptr) return state->accept(std::move(stream));
    state->shake_hands(std::move(stream), tls);
  };
  TRY_ASSIGN(auto listener, listen_tcp(state_->loop, host, port, on_accept));
  telemetry::log(telemetry::Level::kInfo, "listening",
                 {{"host", host}, {"port", listener->port()}, {"tls", tls != nullptr}});
  state_->listeners.push_back(std::move(listener));
  return {};
}

Result<void> Server::listen_unix(const std::string& path) {
  if (state_->loop.world() != nullptr) return {};
  const auto on_accept = [weak = std::weak_ptr<ServerState>(state_)](auto stream) {
    if (const auto state = weak.lock()) state->accept(std::move(stream));
  };
  TRY_ASSIGN(state_->unix_listener, wire::listen_unix(state_->loop, path, on_accept));
  return {};
}

std::uint16_t Server::port() const {
  if (state_->elsewhere != nullptr) return state_->elsewhere->port();
  CHECK(!state_->listeners.empty(), "port() follows listen()");
  return state_->listeners.front()->port();
}

std::size_t Server::connections() const { return state_->connections.size(); }

void Server::shutdown(std::chrono::microseconds grace, std::function<void()> on_done) {
  ServerState& state = *state_;
  if (state.shutting_down) return;
  state.shutting_down = true;
  state.on_drained = on_done ? std::move(on_done) : [] {};
  state.listeners.clear();
  state.unix_listener.reset();
  state.elsewhere.reset();
  state.shaking.clear();
  const auto all = state.connections;
  for (const auto& connection : all) connection->wind_down();
  if (state.connections.empty()) {
    if (state.on_drained) state.loop.post(std::exchange(state.on_drained, nullptr));
    return;
  }
  state.grace = state.loop.after(grace, [weak = std::weak_ptr<ServerState>(state_)] {
    if (const auto held = weak.lock()) held->drop_all();
  });
}

}  // namespace dove::wire
