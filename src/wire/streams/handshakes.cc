#include "wire/streams/handshakes.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "telemetry/clock.h"
#include "telemetry/metrics.h"
#include "wire/streams/shares.h"
#include "wire/tls/tls_stream.h"

namespace dove::wire {

struct Handshakes::State {
  struct Shaking {
    std::string party;
    Handshake handshake;
  };

  void end(std::uint64_t id);
  bool drop_silent();

  Loop& loop;
  const HandshakeLimits limits;
  telemetry::Counter& failed;
  std::unordered_map<std::uint64_t, Shaking> shaking = {};
  std::map<std::uint64_t, std::int64_t> silent = {};  // that have said no hello, since when
  std::uint64_t last = 0;
  Shares of_networks = {};
};

void Handshakes::State::end(std::uint64_t id) {
  silent.erase(id);
  const auto ended = shaking.extract(id);
  if (!ended.empty()) of_networks.leave(ended.mapped().party);
}

// Makes room for a newcomer, who speaks first: a hello comes with the connection.
bool Handshakes::State::drop_silent() {
  if (silent.empty()) return false;
  const auto [id, since_us] = *silent.begin();
  if (telemetry::monotonic_us() - since_us < limits.hello_time.count()) return false;
  end(id);
  failed.add();
  return true;
}

Handshakes::Handshakes(Loop& loop, HandshakeLimits limits)
    : state_(new State{loop, limits,
                       telemetry::metrics().counter("dove_tls_handshakes_failed_total",
                                                    "Connections that ended before TLS stood.")}) {}

Handshakes::~Handshakes() = default;

void Handshakes::abandon() {
  state_->shaking.clear();
  state_->silent.clear();
  state_->of_networks = {};
}

void Handshakes::begin(std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls,
                       std::function<void(std::unique_ptr<Stream>)> done) {
  State& state = *state_;
  const std::string party = party_of(*plain);
  if (!state.of_networks.enter(party, state.limits.most_of_network)) return;
  if (state.shaking.size() >= state.limits.most && !state.drop_silent()) {
    return state.of_networks.leave(party);
  }
  const std::uint64_t id = ++state.last;
  state.silent[id] = telemetry::monotonic_us();
  const std::weak_ptr<State> weak = state_;
  const auto on_done = [weak, id, done = std::move(done)](Result<std::unique_ptr<Stream>> stream) {
    const auto held = weak.lock();
    if (held == nullptr) return;
    held->end(id);
    if (!stream.ok()) return held->failed.add();
    done(std::move(stream).value());
  };
  const auto on_hello = [weak, id] {
    if (const auto held = weak.lock()) held->silent.erase(id);
  };
  state.shaking[id] = {party, accept_tls(state.loop, std::move(plain), std::move(tls),
                                         state.limits.timeout, on_done, on_hello)};
}

}  // namespace dove::wire
