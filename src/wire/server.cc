#include "wire/server.h"

#include <ctime>

#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "wire/connection.h"
#include "wire/http2/http2_connection.h"
#include "wire/server_state.h"
#include "wire/unix/unix_socket.h"

namespace dove::wire {

ServerState::ServerState(Loop& of, ServerLimits given, Handler fn)
    : loop(of),
      limits(std::move(given)),
      handler(std::move(fn)),
      handshakes(of, {.most = limits.handshakes_max,
                      .most_of_network = limits.handshakes_peer_max,
                      .hello_time = limits.hello_time,
                      .timeout = limits.header_timeout}),
      open_(telemetry::metrics().gauge("dove_http_connections", "Open connections.")),
      took_(telemetry::metrics().histogram("dove_http_request_seconds",
                                           "From a request's last byte to its answer.")) {
  for (const char* hundreds : {"1xx", "2xx", "3xx", "4xx", "5xx"}) {
    answers_.push_back(&telemetry::metrics().counter(
        "dove_http_requests_total", "Answers given, by status.", {{"status", hundreds}}));
  }
  for (const int status : {401, 403, 429}) {
    refusals_.emplace_back(status, &telemetry::metrics().counter(
                                       "dove_http_refused_total",
                                       "Calls without a token that is good (401) or without the "
                                       "right (403), and those beyond a limit (429).",
                                       {{"status", std::to_string(status)}}));
  }
}

namespace {

bool is_local(const std::string& party) { return party.starts_with("unix:"); }

constexpr std::size_t kRefusedMax = 64;  // beyond it they are closed without a word

}  // namespace

void ServerState::accept(std::unique_ptr<Stream> stream) {
  const std::string party = party_of(*stream);
  const std::size_t others = is_local(party) ? 0 : connections.size() - local_;
  if (others >= limits.connections_max + kRefusedMax) return;
  const bool counts = connections_of_.enter(party, limits.peer_max);
  if (!counts && ++refused_peers_ > kRefusedMax) {
    --refused_peers_;
    return;
  }
  std::shared_ptr<Accepted> connection;
  if (stream->speaks_http2()) {
    connection = std::make_shared<Http2Connection>(shared_from_this(), std::move(stream), party);
  } else {
    connection = std::make_shared<Connection>(shared_from_this(), std::move(stream), party);
  }
  connections.insert(connection);
  if (is_local(party)) ++local_;
  open_.add(1);
  if (!counts) {
    uncounted.insert(connection.get());
    connection->refuse(429, Error{ErrorKind::kUnavailable,
                                  kRateLimited,
                                  "your address has all the connections it may have; close some, "
                                  "and try again later",
                                  {}});
  } else if (others >= limits.connections_max) {
    connection->refuse(503, Error{ErrorKind::kUnavailable,
                                  "too_many_connections",
                                  "the server has all the connections it may have; try again later",
                                  {}});
  } else {
    connection->start();
  }
}

void ServerState::shake_hands(std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls) {
  if (shutting_down) return;
  handshakes.begin(std::move(plain), std::move(tls),
                   [weak = weak_from_this()](std::unique_ptr<Stream> stream) {
                     if (const auto state = weak.lock()) state->accept(std::move(stream));
                   });
}

void ServerState::remove(const std::shared_ptr<Accepted>& connection) {
  if (connections.erase(connection) > 0) {
    open_.add(-1);
    if (is_local(connection->party())) --local_;
    if (uncounted.erase(connection.get()) > 0) {
      --refused_peers_;
    } else {
      connections_of_.leave(connection->party());
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
  for (const auto& [refusal, counter] : refusals_) {
    if (refusal == status) counter->add();
  }
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
  state_->handshakes.abandon();
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

void Server::drop(const std::string& peer_identity) {
  std::vector<std::shared_ptr<Accepted>> of_peer;
  for (const auto& connection : state_->connections) {
    if (connection->party() == peer_identity) of_peer.push_back(connection);
  }
  for (const auto& connection : of_peer) connection->drop();
}

void Server::shutdown(std::chrono::microseconds grace, std::function<void()> on_done) {
  ServerState& state = *state_;
  if (state.shutting_down) return;
  state.shutting_down = true;
  state.on_drained = on_done ? std::move(on_done) : [] {};
  state.listeners.clear();
  state.unix_listener.reset();
  state.elsewhere.reset();
  state.handshakes.abandon();
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
