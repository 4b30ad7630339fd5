#include "sim/explore/network.h"

#include <utility>

#include "sim/explore/stream_state.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kReset_us = 400'000;
constexpr std::int64_t kSlow_us = 30'000'000;
constexpr std::int64_t kLate_us = 120'000'000;
constexpr std::int64_t kStray_us = 20'000;  // after its sender is back

Error broken() {
  return Error{ErrorKind::kUnavailable, "connection_broken", "the connection broke", ""};
}

Error refused() {
  return Error{ErrorKind::kUnavailable, "connection_refused", "nobody listens", ""};
}

// The one answer to one request. Dropped, it is what a server or the end of its process makes of
// it.
class Reply : public wire::Responder {
 public:
  Reply(Network& network, Host& to, Network::Answer answer, std::weak_ptr<bool> server)
      : network_(network), to_(to), answer_(std::move(answer)), server_(std::move(server)) {}
  ~Reply() override {
    if (answered_) return;
    if (server_.expired()) {
      give(broken());
    } else {
      give(wire::Response{500, {}, ""});
    }
  }
  void send(wire::Response response) override {
    answered_ = true;
    give(std::move(response));
  }
  std::shared_ptr<wire::Outflow> stream(int /*status*/, wire::Pairs /*headers*/) override {
    CHECK(false, "a call is not answered by a stream");
  }
  bool peer_alive() const override { return true; }

 private:
  void give(Result<wire::Response> response) {
    network_.carry(to_, [answer = answer_, response = std::move(response)] { answer(response); });
  }

  Network& network_;
  Host& to_;
  Network::Answer answer_;
  std::weak_ptr<bool> server_;
  bool answered_ = false;
};

}  // namespace

MessageFaults MessageFaults::times(std::uint64_t percent) const {
  MessageFaults made = *this;
  for (std::uint64_t* each : {&made.lost_request, &made.late_request, &made.lost_answer,
                              &made.doubled, &made.slow, &made.doubled_line}) {
    *each = *each * percent / 100;
  }
  return made;
}

std::int64_t Network::delay_us() {
  const std::uint64_t kind = random_.below(1000);
  if (kind < 900) return 200 + static_cast<std::int64_t>(random_.below(2'000));
  if (kind < 995) return 2'000 + static_cast<std::int64_t>(random_.below(50'000));
  return 50'000 + static_cast<std::int64_t>(random_.below(2'000'000));
}

void Network::carry(Host& host, std::function<void()> arrive) {
  if (closed_ || !host.powered) return;
  agenda_.in(delay_us(), [&host, arrive = std::move(arrive)]() mutable {
    if (host.cut) {
      host.held.push_back(std::move(arrive));
    } else {
      arrive();
    }
  });
}

void Network::request(Host& host, wire::Request request, const Answer& answer) {
  if (hits(faults_.lost_request)) return carry(host, [answer] { answer(broken()); });
  if (hits(faults_.late_request)) {
    carry(host, [answer] { answer(broken()); });
    return carry_late(host, std::move(request));
  }
  if (hits(faults_.lost_answer)) {
    return carry(host, [this, &host, answer, request = std::move(request)] {
      arrive(host, request, [answer](const Result<wire::Response>&) { answer(broken()); });
    });
  }
  if (hits(faults_.doubled)) carry_late(host, request);
  const std::int64_t slow_us =
      hits(faults_.slow) ? static_cast<std::int64_t>(random_.below(kSlow_us)) : 0;
  auto pass = [this, &host, answer, request = std::move(request)] {
    arrive(host, request, answer);
  };
  if (slow_us == 0) return carry(host, std::move(pass));
  agenda_.in(slow_us, [this, &host, pass = std::move(pass)] { carry(host, pass); });
}

// A message that nobody waits for arrives: soon, any time later, or just when its sender is back
// and has said something else.
void Network::carry_late(Host& host, wire::Request request) {
  const std::uint64_t kind = random_.below(3);
  if (kind == 0) {
    host.strays.push_back({agenda_.now_us() + kLate_us, std::move(request)});
    return;
  }
  const std::int64_t longest_us = kind == 1 ? kLate_us : kStray_us;
  agenda_.in(static_cast<std::int64_t>(random_.below(longest_us)),
             [this, &host, request = std::move(request)] { arrive_late(host, request); });
}

void Network::arrive_late(Host& host, const wire::Request& request) {
  if (!host.cut) arrive(host, request, [](const Result<wire::Response>&) {});
}

void Network::arrive(Host& from, wire::Request request, const Answer& answer) {
  if (server_ == nullptr) {
    return carry(from, [answer] { answer(refused()); });
  }
  if (!wire::split_target(request).ok()) return;
  const std::shared_ptr<Server> server = server_;
  server->handler(std::move(request), std::make_shared<Reply>(*this, from, answer, server->alive));
}

void Network::open_stream(Host& host, wire::Request request,
                          const std::shared_ptr<StreamState>& stream) {
  std::erase_if(host.streams, [](const auto& weak) { return weak.expired(); });
  host.streams.push_back(stream);
  for (Stray& stray : std::exchange(host.strays, {})) {
    if (stray.until_us < agenda_.now_us()) continue;
    agenda_.in(static_cast<std::int64_t>(random_.below(kStray_us)),
               [this, &host, request = std::move(stray.request)] { arrive_late(host, request); });
  }
  carry(host, [this, stream, request = std::move(request)]() mutable {
    if (server_ == nullptr) {
      return carry(stream->host, [stream] { stream->client_closed(refused()); });
    }
    if (!wire::split_target(request).ok()) return;
    const std::shared_ptr<Server> server = server_;
    server->handler(std::move(request), stream_responder(stream));
  });
}

void Network::cut(Host& host) { host.cut = true; }

void Network::heal(Host& host, bool reset) {
  host.cut = false;
  std::deque<std::function<void()>> held = std::exchange(host.held, {});
  if (reset) return reset_streams(host);
  for (auto& arrive : held) {
    agenda_.in(500, [&host, arrive = std::move(arrive)]() mutable {
      if (host.cut) {
        host.held.push_back(std::move(arrive));
      } else {
        arrive();
      }
    });
  }
}

void Network::reset_streams(Host& host) {
  for (const auto& weak : host.streams) {
    const auto stream = weak.lock();
    if (stream == nullptr) continue;
    agenda_.in(static_cast<std::int64_t>(random_.below(kReset_us)),
               [stream] { stream->tell_server(); });
    agenda_.in(static_cast<std::int64_t>(random_.below(kReset_us)),
               [stream] { stream->client_closed(broken()); });
  }
  host.streams.clear();
}

void Network::power_off(Host& host) {
  host.powered = false;
  host.held.clear();
}

void Network::power_on(Host& host) {
  host.powered = true;
  reset_streams(host);
}

}  // namespace dove::sim
