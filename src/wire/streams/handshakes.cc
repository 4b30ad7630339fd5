#include "wire/streams/handshakes.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "telemetry/metrics.h"
#include "wire/streams/shares.h"
#include "wire/tls/tls_stream.h"

namespace dove::wire {
namespace {

constexpr std::size_t kTakenUpInATurn = 16;
// At peers that have been taken up, before they count as slow.
constexpr std::uint64_t kLooks = 5;

telemetry::Counter& failures() {
  return telemetry::metrics().counter("dove_tls_handshakes_failed_total",
                                      "Connections that ended before TLS stood.");
}

// Peers that have said no hello: nothing at all, or not the whole of it. By their ids.
class SilentPeers {
 public:
  struct One {
    std::int64_t since_us = 0;
    std::uint64_t id = 0;
    auto operator<=>(const One&) const = default;
  };

  void add(const std::string& party, One one) {
    change(party, [&](std::set<One>& of_party) { of_party.insert(one); });
    all_.insert(one);
  }
  void remove(const std::string& party, One one) {
    if (all_.erase(one) == 0) return;
    change(party, [&](std::set<One>& of_party) { of_party.erase(one); });
  }
  void clear() { all_.clear(), parties_.clear(), order_.clear(); }
  std::size_t size() const { return all_.size(); }
  // The oldest of the network that has the most of them, and of all.
  // REQUIRES: there is one.
  One oldest_of_most() const { return std::get<One>(*order_.begin()); }
  One oldest() const { return *all_.begin(); }

 private:
  // The fewer others it has, the later; among equals the oldest peer's first.
  using Place = std::tuple<std::int64_t, One, std::string>;
  static Place place_of(const std::string& party, const std::set<One>& peers) {
    return {-static_cast<std::int64_t>(peers.size()), *peers.begin(), party};
  }
  template <class Change>
  void change(const std::string& party, const Change& with) {
    std::set<One>& peers = parties_[party];
    if (!peers.empty()) order_.erase(place_of(party, peers));
    with(peers);
    if (!peers.empty()) {
      order_.insert(place_of(party, peers));
    } else {
      parties_.erase(party);
    }
  }

  std::set<One> all_;
  std::unordered_map<std::string, std::set<One>> parties_;
  std::set<Place> order_;
};

}  // namespace

std::int64_t handshakes_failed() { return static_cast<std::int64_t>(failures().value()); }

struct Handshakes::State : std::enable_shared_from_this<State> {
  struct Shaking {
    std::string party;
    std::uint64_t rank = 0;     // its place among those that wait
    std::int64_t since_us = 0;  // as in the line that it is in
    std::uint64_t looks = 0;    // how many there had been when it was taken up
    Handshake handshake;
    std::function<void()> take_up;  // while it waits
  };
  State(Loop& of, HandshakeLimits given) : loop(of), limits(given), failed(failures()) {}

  void end(std::uint64_t id);
  bool drop_silent();
  std::uint64_t next_rank(const std::string& party);
  void spoke(std::uint64_t id, std::function<void()> take_up);
  void answered(std::uint64_t id);
  void take_up(std::uint64_t id, std::function<void()> go_on);
  void look();
  void advance();
  void advance_later();

  Loop& loop;
  const HandshakeLimits limits;
  telemetry::Counter& failed;
  std::unordered_map<std::uint64_t, Shaking> shaking;
  SilentPeers silent;
  std::set<std::pair<std::uint64_t, std::uint64_t>> worked_on;  // looks, id; and not slow
  std::set<std::pair<std::uint64_t, std::uint64_t>> waiting;    // rank, id
  std::uint64_t looks = 0;                                      // so far, all while somebody waited
  std::uint64_t rank_now = 0;                                   // of the last that was taken up
  std::unordered_map<std::string, std::uint64_t> last_ranks;    // of networks with some in progress
  std::uint64_t last = 0;
  Shares of_networks;
  bool advances = false;  // in a later turn
  Timer pace;
};

void Handshakes::State::end(std::uint64_t id) {
  const auto ended = shaking.extract(id);
  if (ended.empty()) return;
  const Shaking& one = ended.mapped();
  silent.remove(one.party, {one.since_us, id});
  worked_on.erase({one.looks, id});
  waiting.erase({one.rank, id});
  of_networks.leave(one.party);
  if (of_networks.count(one.party) == 0) last_ranks.erase(one.party);
  advance_later();
}

// Makes room for a newcomer, who speaks first: a hello comes with the connection. A network that
// fills the places makes room itself; where its peers are young, as when a cluster comes back from
// behind one address, the oldest of all does.
bool Handshakes::State::drop_silent() {
  if (silent.size() == 0) return false;
  for (const SilentPeers::One& one : {silent.oldest_of_most(), silent.oldest()}) {
    if (loop.monotonic_us() - one.since_us < limits.hello_time.count()) continue;
    end(one.id);
    failed.add();
    return true;
  }
  return false;
}

// Each network's follow one another, beginning where the queue has got to. This machine has no
// limit, so its next one is always the first of a round.
std::uint64_t Handshakes::State::next_rank(const std::string& party) {
  if (party.empty()) return rank_now;
  const auto [last_rank, is_first] = last_ranks.try_emplace(party, rank_now);
  if (!is_first) last_rank->second = std::max(last_rank->second + 1, rank_now);
  return last_rank->second;
}

void Handshakes::State::spoke(std::uint64_t id, std::function<void()> go_on) {
  Shaking& one = shaking.at(id);
  silent.remove(one.party, {one.since_us, id});
  one.rank = next_rank(one.party);
  if (waiting.empty() && worked_on.size() < limits.at_a_time) {
    rank_now = one.rank;
    return take_up(id, std::move(go_on));
  }
  one.take_up = std::move(go_on);
  waiting.insert({one.rank, id});
  if (!pace.pending()) advance_later();
}

// It may fail at once, and be ended.
void Handshakes::State::take_up(std::uint64_t id, std::function<void()> go_on) {
  Shaking& one = shaking.at(id);
  one.since_us = loop.monotonic_us();
  one.looks = looks;
  silent.add(one.party, {one.since_us, id});
  worked_on.insert({one.looks, id});
  go_on();
}

void Handshakes::State::answered(std::uint64_t id) {
  const auto found = shaking.find(id);
  if (found == shaking.end()) return;
  silent.remove(found->second.party, {found->second.since_us, id});
}

// A timer that is late is one look, however late: what peers have sent meanwhile lies in their
// sockets and is read before the next one.
void Handshakes::State::look() {
  pace = loop.after(limits.slow_after / kLooks, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    ++self->looks;
    self->advance();
  });
}

void Handshakes::State::advance() {
  while (!worked_on.empty() && looks > worked_on.begin()->first + kLooks) {
    worked_on.erase(worked_on.begin());
  }
  for (std::size_t i = 0; i < kTakenUpInATurn; ++i) {
    if (waiting.empty() || worked_on.size() >= limits.at_a_time) break;
    const auto [rank, id] = *waiting.begin();
    waiting.erase(waiting.begin());
    rank_now = rank;
    take_up(id, std::exchange(shaking.at(id).take_up, nullptr));
  }
  if (waiting.empty()) return pace.cancel();
  if (worked_on.size() < limits.at_a_time) advance_later();
  if (!pace.pending()) look();
}

void Handshakes::State::advance_later() {
  if (waiting.empty() || std::exchange(advances, true)) return;
  loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->advances = false;
    self->advance();
  });
}

Handshakes::Handshakes(Loop& loop, HandshakeLimits limits) : state_(new State(loop, limits)) {}

Handshakes::~Handshakes() = default;

void Handshakes::abandon() {
  state_->shaking.clear();
  state_->silent.clear();
  state_->worked_on.clear();
  state_->waiting.clear();
  state_->of_networks = {};
  state_->last_ranks.clear();
}

void Handshakes::begin(std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls,
                       std::function<void(std::unique_ptr<Stream>)> done) {
  State& state = *state_;
  const std::string party = party_of(*plain);
  if (!state.of_networks.enter(party, state.limits.most_of_network)) return;
  const bool is_full = state.shaking.size() >= state.limits.most;
  if (is_full || state.silent.size() >= state.limits.most_silent) {
    const bool made_room = state.drop_silent();
    if (is_full && !made_room) return state.of_networks.leave(party);
  }
  const std::uint64_t id = ++state.last;
  const std::int64_t now_us = state.loop.monotonic_us();
  state.silent.add(party, {now_us, id});
  const std::weak_ptr<State> weak = state_;
  const auto on_done = [weak, id, done = std::move(done)](Result<std::unique_ptr<Stream>> stream) {
    const auto held = weak.lock();
    if (held == nullptr) return;
    held->end(id);
    if (!stream.ok()) return held->failed.add();
    done(std::move(stream).value());
  };
  Reception reception;
  reception.on_words = [weak, id](std::function<void()> take_up) {
    if (const auto held = weak.lock()) held->spoke(id, std::move(take_up));
  };
  reception.on_hello = [weak, id] {
    if (const auto held = weak.lock()) held->answered(id);
  };
  state.shaking[id] = {party,
                       0,
                       now_us,
                       0,
                       accept_tls(state.loop, std::move(plain), std::move(tls),
                                  state.limits.timeout, on_done, std::move(reception)),
                       nullptr};
}

}  // namespace dove::wire
