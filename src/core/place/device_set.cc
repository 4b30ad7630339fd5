#include "core/place/device_set.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace dove::core {
namespace {

using Positions = ShortList<std::size_t, 8>;  // of offers

// What makes a set good, smaller first; only ids come after it.
using Key = std::array<std::int64_t, 6>;

// The offers by position, with the worth of each pair of them.
class Offers {
 public:
  explicit Offers(const DeviceChoice& choice)
      : choice_(choice),
        count_(choice.offers.size()),
        worth_(count_ * count_),
        rows_(count_),
        numa_(count_) {
    number_numa_nodes();
    read_worth();
    read_links();
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = 0; b < count_; ++b) rows_[a] += worth(a, b);
      // With row sums and the total, what is left beside a set costs a step for each device in it,
      // not one for each pair.
      total_ += rows_[a];
    }
    // Each pair was counted from both ends.
    total_ /= 2;
    top_worth_ = *std::max_element(worth_.begin(), worth_.end());
  }

  std::size_t size() const { return count_; }
  std::size_t wanted() const { return static_cast<std::size_t>(choice_.count); }
  std::int32_t top_worth() const { return top_worth_; }
  std::int32_t worth(std::size_t a, std::size_t b) const { return worth_[a * count_ + b]; }
  bool same_numa(std::size_t a, std::size_t b) const { return numa_[a] == numa_[b]; }
  std::size_t numa_of(std::size_t at) const { return numa_[at]; }
  // The number of offers on each NUMA node.
  ShortList<std::int32_t, 4> per_numa() const {
    ShortList<std::int32_t, 4> counts;
    for (const NumaOffers& numa : numas_) counts.push_back(numa.devices);
    return counts;
  }
  bool is_interleaved() const { return choice_.affinity == Affinity::kInterleaved; }

  // Whether exchanging the two changes nothing but ids.
  bool alike(std::size_t a, std::size_t b) const {
    // Equal to all others but each other: an exchange then leaves the sum of every set as it is.
    if (numa_[a] != numa_[b] || rows_[a] != rows_[b]) return false;
    for (std::size_t c = 0; c < count_; ++c) {
      if (c != a && c != b && worth(a, c) != worth(b, c)) return false;
    }
    return true;
  }

  // `sum`: the worth of the set's pairs.
  Key key(const Positions& set, std::int64_t sum) {
    // total - rows of the set counts pairs within the set twice, so they are added back.
    std::int64_t left = total_ + sum;
    for (NumaOffers& numa : numas_) numa.taken = 0;
    for (std::size_t at : set) {
      left -= rows_[at];
      ++numas_[numa_[at]].taken;
    }
    std::int64_t used = 0;
    std::int64_t bare = 0;
    std::int64_t beside = 0;
    std::int64_t pairs_left = 0;
    for (const NumaOffers& numa : numas_) {
      const std::int64_t rest = numa.devices - numa.taken;
      pairs_left += rest * (rest - 1) / 2;
      if (numa.taken == 0) continue;
      ++used;
      // Cores near the set: those of its NUMA nodes only, as others are a socket away.
      beside += numa.cores_free;
      if (choice_.cores > 0 && numa.cores_free == 0) ++bare;
    }
    const std::int64_t elsewhere = std::max<std::int64_t>(choice_.cores - beside, 0);
    // In this order: links inside the set first, as collectives run over them. Then few NUMA nodes
    // with cores for the tasks, so that memory is near. What is left for others comes last: links,
    // then pairs on one NUMA node.
    if (is_interleaved()) return {-sum, used, bare, elsewhere, pairs_left, -left};
    return {-sum, used, bare, elsewhere, -left, -pairs_left};
  }

 private:
  struct NumaOffers {
    std::int32_t numa_node = 0;
    std::int32_t cores_free = 0;
    std::int32_t devices = 0;
    std::int32_t taken = 0;
  };

  void number_numa_nodes() {
    for (std::size_t i = 0; i < count_; ++i) {
      const DeviceOffer& offer = choice_.offers[i];
      std::size_t at = 0;
      while (at < numas_.size() && numas_[at].numa_node != offer.numa_node) ++at;
      if (at == numas_.size()) numas_.push_back({offer.numa_node, offer.cores_free, 0, 0});
      ++numas_[at].devices;
      numa_[i] = at;
    }
  }

  // What is known without measured links: devices of one NUMA node are nearer.
  void read_worth() {
    const std::int32_t near = link_worth("NODE");
    const std::int32_t far = link_worth("SYS");
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = 0; b < count_; ++b) {
        if (a != b) worth_[a * count_ + b] = same_numa(a, b) ? near : far;
      }
    }
  }

  void read_links() {
    if (choice_.inventory.links.empty()) return;
    // Links name devices by id; only those on offer matter.
    Positions position(choice_.inventory.devices.size(), count_);
    for (std::size_t i = 0; i < count_; ++i) {
      position[static_cast<std::size_t>(choice_.offers[i].device)] = i;
    }
    for (const Link& link : choice_.inventory.links) {
      const auto a = static_cast<std::size_t>(link.device_a);
      const auto b = static_cast<std::size_t>(link.device_b);
      if (a == b || a >= position.size() || b >= position.size()) continue;
      if (position[a] == count_ || position[b] == count_) continue;
      // A link that was seen says more than the NUMA nodes do, even where it says less than they
      // would.
      const std::int32_t worth = link_worth(link.kind);
      worth_[position[a] * count_ + position[b]] = worth;
      worth_[position[b] * count_ + position[a]] = worth;
    }
  }

  const DeviceChoice& choice_;
  std::size_t count_;
  ShortList<std::int32_t, 64> worth_;  // by position * count_ + position
  ShortList<std::int64_t, 8> rows_;    // sums of worth_
  Positions numa_;                     // index in numas_, by position
  ShortList<NumaOffers, 4> numas_;
  std::int64_t total_ = 0;  // of all pairs
  std::int32_t top_worth_ = 0;
};

// How many devices a growing set may have on each NUMA node, so that it ends as even as can be:
// all that have them give `level_`, and `extra_` of those with more one more. Any set that is
// grown by these rules can be completed, and is no less even than any other.
class Evenness {
 public:
  explicit Evenness(const Offers& offers) : is_on_(offers.is_interleaved()) {
    if (!is_on_) return;
    const auto per_numa = offers.per_numa();
    taken_.assign(per_numa.size(), 0);
    extra_ = static_cast<std::int32_t>(offers.wanted());
    for (;;) {
      const auto more = static_cast<std::int32_t>(std::count_if(
          per_numa.begin(), per_numa.end(), [&](std::int32_t count) { return count > level_; }));
      if (more == 0 || extra_ < more) return;
      extra_ -= more;
      ++level_;
    }
  }

  bool allows(std::size_t numa) const {
    return !is_on_ || taken_[numa] < level_ || (taken_[numa] == level_ && extra_ > 0);
  }
  // REQUIRES: allows(numa).
  void take(std::size_t numa) {
    if (is_on_ && taken_[numa]++ == level_) --extra_;
  }
  void give_back(std::size_t numa) {
    if (is_on_ && --taken_[numa] == level_) ++extra_;
  }

 private:
  bool is_on_;
  std::int32_t level_ = 0;
  std::int32_t extra_ = 0;
  ShortList<std::int32_t, 4> taken_;  // by NUMA node
};

// Keeps the better of the sets that it is shown.
class Best {
 public:
  explicit Best(Offers& offers) : offers_(offers) {}

  // Whether a set whose pairs are worth `sum` could be better than what is kept.
  bool could_take(std::int64_t sum) const { return set_.empty() || -sum <= key_[0]; }

  void show(const Positions& set, std::int64_t sum) {
    if (!could_take(sum)) return;
    const Key key = offers_.key(set, sum);
    // A tie on every count goes to the lower ids: the set is the same in whatever order sets were
    // tried.
    if (!set_.empty() && key > key_) return;
    Positions sorted = set;
    std::sort(sorted.begin(), sorted.end());
    if (!set_.empty() && key == key_ && sorted > set_) return;
    key_ = key;
    set_.assign(sorted.begin(), sorted.end());
  }

  const Positions& set() const { return set_; }

 private:
  Offers& offers_;
  Key key_ = {};
  Positions set_;
};

// Tries all sets but for those that differ by an exchange of devices that are alike: of these it
// takes the lowest ids.
class ExactSearch {
 public:
  explicit ExactSearch(Offers& offers) : offers_(offers), best_(offers), evenness_(offers) {
    for (std::size_t i = 0; i < offers.size(); ++i) {
      const auto of_kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const Positions& kind) {
        // Being alike is an equivalence, so comparing with the first of a kind is enough.
        return offers.alike(kind.front(), i);
      });
      if (of_kind == kinds_.end()) {
        kinds_.push_back(Positions(1, i));
      } else {
        of_kind->push_back(i);
      }
    }
    after_.assign(kinds_.size() + 1, 0);
    // Counted from the end: a branch that has too few devices left is cut off at once.
    for (std::size_t k = kinds_.size(); k > 0; --k) {
      after_[k - 1] = after_[k] + kinds_[k - 1].size();
    }
  }

  const Positions& find() {
    visit(0, 0);
    return best_.set();
  }

 private:
  void visit(std::size_t kind, std::int64_t sum) {
    const auto wanted = static_cast<std::int64_t>(offers_.wanted());
    const auto taken = static_cast<std::int64_t>(set_.size());
    if (taken == wanted) return best_.show(set_, sum);
    if (taken + static_cast<std::int64_t>(after_[kind]) < wanted) return;
    // The bound: if every pair still to come were as good as the best pair there is. Without it,
    // eight devices of sixteen would be 12 870 sets; with it, few are left where links differ.
    const std::int64_t pairs = (wanted * (wanted - 1) - taken * (taken - 1)) / 2;
    if (!best_.could_take(sum + pairs * offers_.top_worth())) return;
    // Without this kind, then with one, two, … of it, always its lowest ids: others would be equal
    // but for the ids.
    visit(kind + 1, sum);
    const std::size_t before = set_.size();
    const std::size_t numa = offers_.numa_of(kinds_[kind].front());  // of all that are alike
    for (std::size_t device : kinds_[kind]) {
      if (set_.size() == offers_.wanted() || !evenness_.allows(numa)) break;
      for (std::size_t other : set_) sum += offers_.worth(device, other);
      set_.push_back(device);
      evenness_.take(numa);
      visit(kind + 1, sum);
    }
    while (set_.size() > before) {
      set_.pop_back();
      evenness_.give_back(numa);
    }
  }

  Offers& offers_;
  Best best_;
  Evenness evenness_;
  ShortList<Positions, 4> kinds_;  // devices that are alike, ascending
  Positions after_;                // how many devices this kind and the later ones have
  Positions set_;
};

// Grows a set from each of the first devices, always by the one that is closest to those it has.
class GrowingSearch {
 public:
  explicit GrowingSearch(Offers& offers) : offers_(offers), best_(offers) {}

  const Positions& find() {
    constexpr std::size_t kSteps_max = std::size_t{1} << 20;
    // About as many steps as the exact search may take, so that the largest machines cannot stall a
    // decision.
    const std::size_t steps = offers_.size() * offers_.wanted();
    const std::size_t seeds = std::clamp<std::size_t>(kSteps_max / steps, 1, offers_.size());
    for (std::size_t seed = 0; seed < seeds; ++seed) grow(seed);
    return best_.set();
  }

 private:
  void grow(std::size_t seed) {
    std::vector<std::int64_t> gain(offers_.size(), 0);
    std::vector<bool> taken(offers_.size(), false);
    Positions set;
    Evenness evenness(offers_);
    std::int64_t sum = 0;
    for (std::size_t next = seed;;) {
      sum += gain[next];
      taken[next] = true;
      set.push_back(next);
      evenness.take(offers_.numa_of(next));
      if (set.size() == offers_.wanted()) return best_.show(set, sum);
      std::size_t closest = offers_.size();
      for (std::size_t i = 0; i < offers_.size(); ++i) {
        gain[i] += offers_.worth(next, i);
        if (taken[i] || !evenness.allows(offers_.numa_of(i))) continue;
        // Among equals, one of the seed's NUMA node: growing has no look-ahead, and would otherwise
        // wander to where no cores are near.
        if (closest == offers_.size() || gain[i] > gain[closest] ||
            (gain[i] == gain[closest] && offers_.same_numa(seed, i) &&
             !offers_.same_numa(seed, closest))) {
          closest = i;
        }
      }
      next = closest;
    }
  }

  Offers& offers_;
  Best best_;
};

struct LinkKind {
  std::string_view name;
  std::int32_t worth;
};
// From the farthest: over the link of two sockets, over one NUMA node, one host bridge, several
// PCIe bridges, one bridge. NVLink and its like are above them.
constexpr std::array<LinkKind, 7> kLinkKinds = {
    {{"SYS", 0}, {"NODE", 1}, {"PHB", 2}, {"PCIE", 2}, {"PXB", 3}, {"PIX", 4}, {"XGMI", 12}}};
constexpr std::int32_t kNvlink_worth = 8;
constexpr std::int32_t kNvlinks_max = 64;

}  // namespace

std::int32_t link_worth(std::string_view kind) {
  // A kind that nobody knows counts as the farthest: a wrong guess upwards would tie a job to a
  // slow link.
  for (const LinkKind& known : kLinkKinds) {
    if (known.name == kind) return known.worth;
  }
  if (!kind.starts_with("NV")) return 0;
  std::int32_t links = 0;
  for (char c : kind.substr(2)) {
    if (c < '0' || c > '9' || links > kNvlinks_max) break;
    links = links * 10 + (c - '0');
  }
  return kNvlink_worth + std::clamp(links, 1, kNvlinks_max);
}

DeviceIds closest_devices(const DeviceChoice& choice) {
  const auto count = static_cast<std::size_t>(choice.count);
  CHECK(count <= choice.offers.size(), "a set is chosen from at least as many offers");
  DeviceIds ids;
  if (count == 0) return ids;
  ids.reserve(count);
  // All that is offered is wanted: there is nothing to choose.
  if (count == choice.offers.size()) {
    for (const DeviceOffer& offer : choice.offers) ids.push_back(offer.device);
    return ids;
  }
  Offers offers(choice);
  const Positions set =
      offers.size() <= kExactOffers_max ? ExactSearch(offers).find() : GrowingSearch(offers).find();
  for (std::size_t at : set) ids.push_back(choice.offers[at].device);
  return ids;
}

}  // namespace dove::core
