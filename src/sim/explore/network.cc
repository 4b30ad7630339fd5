#include "sim/explore/network.h"

#include <algorithm>
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
  Reply(Network& network, Host& from, Host& to, Network::Answer answer, std::weak_ptr<bool> server)
      : network_(network),
        from_(from),
        to_(to),
        answer_(std::move(answer)),
        server_(std::move(server)) {}
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
    network_.carry(from_, to_,
                   [answer = answer_, response = std::move(response)] { answer(response); });
  }

  Network& network_;
  Host& from_;
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

Host& Network::find(const std::string& name, Host& if_none) {
  const auto found = hosts_.find(name);
  return found == hosts_.end() ? if_none : *found->second;
}

std::shared_ptr<Network::Server> Network::server_at(const std::string& name) const {
  const auto found = servers_.find(name);
  return found == servers_.end() ? nullptr : found->second;
}

// Null: a message gets through.
Host* Network::held_at(Host& from, Host& to) {
  if (from.cut || from.apart.count(&to) != 0) return &from;
  const bool is_held = to.cut || to.stopped || to.apart.count(&from) != 0;
  return is_held ? &to : nullptr;
}

void Network::pass(Host& from, Host& to, std::function<void()> arrive) {
  Host* const at = held_at(from, to);
  if (at == nullptr) return arrive();
  at->held.push_back({&from, &to, std::move(arrive)});
}

void Network::carry(Host& from, Host& to, std::function<void()> arrive) {
  if (closed_ || !from.powered || !to.powered) return;
  agenda_.in(delay_us(), [&from, &to, arrive = std::move(arrive)]() mutable {
    pass(from, to, std::move(arrive));
  });
}

void Network::request(Host& host, const std::string& to, wire::Request request,
                      const Answer& answer) {
  Host& there = find(to, host);
  if (hits(faults_.lost_request)) {
    return carry(there, host, [answer] { answer(broken()); });
  }
  if (hits(faults_.late_request)) {
    carry(there, host, [answer] { answer(broken()); });
    return carry_late(host, to, std::move(request));
  }
  if (hits(faults_.lost_answer)) {
    return carry(host, there, [this, &host, to, answer, request = std::move(request)] {
      arrive(host, to, request, [answer](const Result<wire::Response>&) { answer(broken()); });
    });
  }
  if (hits(faults_.doubled)) carry_late(host, to, request);
  const std::int64_t slow_us =
      hits(faults_.slow) ? static_cast<std::int64_t>(random_.below(kSlow_us)) : 0;
  auto pass = [this, &host, to, answer, request = std::move(request)] {
    arrive(host, to, request, answer);
  };
  if (slow_us == 0) return carry(host, there, std::move(pass));
  agenda_.in(slow_us, [this, &host, &there, pass = std::move(pass)] { carry(host, there, pass); });
}

// A message that nobody waits for arrives: soon, any time later, or just when its sender is back
// and has said something else.
void Network::carry_late(Host& host, const std::string& to, wire::Request request) {
  const std::uint64_t kind = random_.below(3);
  if (kind == 0) {
    host.strays.push_back({agenda_.now_us() + kLate_us, to, std::move(request)});
    return;
  }
  const std::int64_t longest_us = kind == 1 ? kLate_us : kStray_us;
  agenda_.in(static_cast<std::int64_t>(random_.below(longest_us)),
             [this, &host, to, request = std::move(request)] { arrive_late(host, to, request); });
}

void Network::arrive_late(Host& host, const std::string& to, const wire::Request& request) {
  if (held_at(host, find(to, host)) != nullptr) return;
  arrive(host, to, request, [](const Result<wire::Response>&) {});
}

void Network::arrive(Host& from, const std::string& to, wire::Request request,
                     const Answer& answer) {
  Host& there = find(to, from);
  const std::shared_ptr<Server> server = server_at(to);
  if (server == nullptr) {
    return carry(there, from, [answer] { answer(refused()); });
  }
  if (!wire::split_target(request).ok()) return;
  server->handler(std::move(request),
                  std::make_shared<Reply>(*this, there, from, answer, server->alive));
}

void Network::open_stream(wire::Request request, const std::shared_ptr<StreamState>& stream) {
  Host& host = stream->host;
  for (Host* end : {&host, &stream->server}) {
    std::erase_if(end->streams, [](const auto& weak) { return weak.expired(); });
    end->streams.push_back(stream);
  }
  for (Stray& stray : std::exchange(host.strays, {})) {
    if (stray.until_us < agenda_.now_us()) continue;
    agenda_.in(static_cast<std::int64_t>(random_.below(kStray_us)),
               [this, &host, to = std::move(stray.to), request = std::move(stray.request)] {
                 arrive_late(host, to, request);
               });
  }
  carry(host, stream->server, [this, stream, request = std::move(request)]() mutable {
    const std::shared_ptr<Server> server = server_at(stream->to);
    if (server == nullptr) {
      return carry(stream->server, stream->host, [stream] { stream->client_closed(refused()); });
    }
    if (!wire::split_target(request).ok()) return;
    server->handler(std::move(request), stream_responder(stream));
  });
}

void Network::cut(Host& host) { host.cut = true; }

void Network::release(Host& host) {
  for (Held& each : std::exchange(host.held, {})) {
    agenda_.in(500, [each = std::move(each)]() mutable {
      pass(*each.from, *each.to, std::move(each.arrive));
    });
  }
}

void Network::heal(Host& host, bool reset) {
  host.cut = false;
  if (!reset) return release(host);
  host.held.clear();
  reset_streams(host);
}

void Network::part(Host& client, const Host& server) { client.apart.insert(&server); }

void Network::rejoin(Host& client, Host& server, bool reset) {
  client.apart.erase(&server);
  if (reset) {
    for (Host* end : {&client, &server}) {
      std::erase_if(end->held, [&](const Held& each) {
        return (each.from == &client && each.to == &server) ||
               (each.from == &server && each.to == &client);
      });
    }
    for (const auto& weak : client.streams) {
      const auto stream = weak.lock();
      if (stream != nullptr && &stream->server == &server) this->reset(*stream);
    }
  }
  release(client);
  release(server);
}

// All at this instant: what one of them posts to another comes behind what waits there.
void Network::go_on(Host& host) {
  host.stopped = false;
  std::map<const void*, std::uint64_t> turns;
  std::deque<Stalled> stalled = std::exchange(host.stalled, {});
  for (const Stalled& each : stalled) {
    if (turns.count(each.process) == 0) turns[each.process] = random_.next();
  }
  std::stable_sort(stalled.begin(), stalled.end(), [&](const Stalled& a, const Stalled& b) {
    return turns.at(a.process) < turns.at(b.process);
  });
  for (Stalled& each : stalled) {
    agenda_.in(0, [&host, each = std::move(each)]() mutable {
      run(host, each.process, std::move(each.call));
    });
  }
  release(host);
}

void Network::run(Host& host, const void* process, std::function<void()> call) {
  if (!host.stopped) return call();
  host.stalled.push_back({process, std::move(call)});
}

void Network::reset(StreamState& stream) {
  agenda_.in(static_cast<std::int64_t>(random_.below(kReset_us)),
             [of = stream.shared_from_this()] { of->tell_server(); });
  agenda_.in(static_cast<std::int64_t>(random_.below(kReset_us)),
             [of = stream.shared_from_this()] { of->client_closed(broken()); });
}

void Network::reset_streams(Host& host) {
  for (const auto& weak : std::exchange(host.streams, {})) {
    if (const auto stream = weak.lock()) reset(*stream);
  }
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
