// The interfaces of policies: core asks, and src/policies answers with one file per policy.
//
// A policy is a constant: it has no state, answers from its arguments alone, and lives as long as
// the program (policies/standard.h). The core determines what is possible (fit.h); policies say
// what is preferred.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/collections/short_list.h"
#include "core/state/state.h"
#include "model/resources.h"

namespace dove::core {

// What all available nodes have in total.
struct Total {
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const Total&) const = default;
};

// What a share is computed from: a user's, or that of a queue with all below it.
struct ShareView {
  const Usage* used = nullptr;   // now; never null
  const Total* total = nullptr;  // of the cluster; never null
  std::int64_t past_milli_ms =
      0;  // decayed, what is held now included (core/state/past/past_use.h)
  std::int32_t weight = 1;
  QueueWeights weights = {1, 1, 1};  // in each resource
  Span half_life;                    // of past_milli_ms
  std::int64_t fair_share = 0;       // of the cluster's MultifactorWeights
};

// What users, and queues below one parent, are served by.
enum class Basis {
  kJob,      // their first job
  kUse,      // the smallest share, by what is held now
  kPastUse,  // the smallest share, by what was held recently too
  kRank,     // the rank of their first job less their share, by what was held recently too
};

constexpr bool counts_past_use(Basis basis) {
  return basis == Basis::kPastUse || basis == Basis::kRank;
}

// What a first job that has no place does to others of its queue.
enum class Head {
  kIsPassed,   // others pass it
  kBlocks,     // nothing passes it
  kTakesOver,  // others pass it; it takes the place of a running job whose owner allows that and
               // that by what is learned (core/state/learned/learned.h) stands clearly behind it
};

// Which waiting job of a queue comes first, and which of the queues below it.
class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;
  virtual std::string_view name() const = 0;  // with a version: "priority_fifo/1"
  // Higher ranks come first, equal ranks in order of submission. May depend on what does not
  // change while the job waits, on its queue's declaration and on the cluster's settings only.
  virtual std::int64_t rank(const State& state, const Job& job) const = 0;
  virtual Basis basis() const { return Basis::kJob; }
  virtual std::int64_t share(const ShareView&) const { return 0; }
  virtual Head head() const { return Head::kIsPassed; }
};

// What a node has free, in sums.
struct NodeFree {
  std::int64_t gpus_milli = 0;
  std::int64_t cores = 0;
  std::int64_t memory_bytes = 0;
};

// Nodes are tried in ascending order of this.
using NodeRank = std::array<std::int64_t, 3>;

// What one node must have free at least; matching devices only.
using NodeNeeds = NodeFree;

// A free device, as offered to a policy.
struct DeviceOffer {
  std::int32_t device = 0;  // index in the inventory
  std::int32_t numa_node = 0;
  std::int32_t free_milli = 0;
  std::int32_t cores_free = 0;  // of its NUMA node
};

using DeviceIds = ShortList<std::int32_t, 8>;

// Devices of one node, of which `count` are to be chosen. REQUIRES: `offers` ascend by device and
// are at least `count`.
struct DeviceChoice {
  const Inventory& inventory;
  std::span<const DeviceOffer> offers;
  std::int32_t count = 0;
  std::int32_t cores = 0;  // that are asked for with them
  Affinity affinity = Affinity::kSingle;
};

class ScorePolicy;  // core/place/score.h

// Which nodes and devices a job that fits should get.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  virtual std::string_view name() const = 0;
  virtual NodeRank rank(const NodeFree& free) const = 0;
  // The first rank from `from` on at which a node could meet `needs`; `from` itself is always a
  // right answer. Lets a search jump over nodes that are too full.
  virtual NodeRank skip(const NodeRank& from, const NodeNeeds& needs) const = 0;
  // The chosen devices, ascending; all that are offered are wholly free.
  virtual DeviceIds whole_devices(const DeviceChoice& choice) const = 0;
  // The device to take a share of: each of the offers has room for it, `count` is 1.
  virtual std::int32_t share_device(const DeviceChoice& choice) const = 0;
};

// The policies in use. REQUIRES: no member is null while it is used.
struct Policies {
  const OrderPolicy* order = nullptr;  // where nobody names one
  const PlacementPolicy* placement = nullptr;
  std::vector<const OrderPolicy*> orders = {};  // those that queues may name, `order` among them
  // Those that may say where single tasks with devices go; by `placement` where none is named.
  std::vector<const ScorePolicy*> scores = {};
};

}  // namespace dove::core
