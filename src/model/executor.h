// Executors: who else runs work on our nodes (a Slurm), what it runs there, and what it holds for
// us.
//
// What we did not place there is a foreign allocation; what holds there what the ledger gave to a
// job of ours is a placeholder. The executor's adapter says both, and nothing is taken on trust: a
// placement of ours does not start before its placeholder is confirmed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/core_set.h"
#include "model/ids.h"
#include "model/labels.h"
#include "model/time.h"

namespace dove {

// The part of some nodes that an executor may be lent.
struct Lendable {
  std::vector<std::string> nodes;     // names or hostlists
  std::vector<std::int32_t> devices;  // indices into Inventory::devices, ascending
  std::int32_t cores = -1;            // at once, on each node; -1: all
  std::int64_t memory_bytes = -1;     // at once, on each node; -1: all
  bool operator==(const Lendable&) const = default;
};

// Declared by an administrator.
struct Executor {
  std::string name;                           // also the word for it in messages
  std::string service_account;                // whose keys its adapter calls with
  std::vector<std::string> nodes;             // names or hostlists
  bool placeholders = true;                   // jobs of ours wait for one there before they start
  std::map<std::string, std::string> queues;  // by the executor's account: in whose use it counts
  // Its users' jobs wait there until the ledger has given them a place (docs/operate/slurm.md).
  bool gate = false;
  bool runs_jobs = false;  // jobs of ours may name it: it runs them
  std::vector<Lendable> lendable =
      {};  // the first that names a node counts; empty: all of its nodes
  // Partitions whose jobs make room for ours of higher priority: they are put back there.
  std::vector<std::string> preempts = {};
  // Partitions whose waiting jobs ours make room for, where those are of higher priority.
  std::vector<std::string> yields_to = {};
  Labels labels = {};
  bool operator==(const Executor&) const = default;
};

// What the executor runs on one node for somebody else. Known by (executor, node, id).
struct ForeignAllocation {
  std::string id;
  CoreSet cores;
  std::vector<std::int32_t> devices;  // indices into Inventory::devices, ascending
  std::int64_t memory_bytes = 0;
  std::string user;
  std::string account;
  std::string name;
  std::string partition;
  std::int64_t priority = 0;
  Instant started_at;        // 0: not known
  Instant ends_by = kNever;  // kNever: nobody knows
  bool may_requeue = false;  // it can be put back there, and runs again from its start
  bool operator==(const ForeignAllocation&) const = default;
};

// The ids begin so of what an executor keeps for others, and nobody runs in.
inline constexpr std::string_view kKept_begin = "reservation:";
// Whether it is kept from `started_at` on, and free until then. Once that has begun, its executor
// says no instant.
inline bool is_for_later(const ForeignAllocation& one) {
  return one.started_at.us != 0 && one.id.starts_with(kKept_begin);
}

// What it ran for somebody else, as is known afterwards: all of it on nodes of ours.
struct ForeignUse {
  std::string id;  // as of a ForeignAllocation
  std::string account;
  Instant from;
  Instant to;
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const ForeignUse&) const = default;
};

// Events (model/event.h).
// The first report after a time in which nobody heard what the executor runs.
struct ForeignWatchResumed {
  std::string executor;
  Instant from;  // up to which all that it ran is known; 0: nothing is, and use counts from now on
  bool operator==(const ForeignWatchResumed&) const = default;
};
// What ended within a part of such a time, as the executor's accounting has it.
struct ForeignUseFound {
  std::string executor;
  Instant gap;  // which time: that which ended then
  Instant from;
  Instant until;
  std::vector<ForeignUse> uses;  // that ended in [from, until), from their start
  bool operator==(const ForeignUseFound&) const = default;
};

// The life of a placeholder, in this order; a refused or a lost one may be asked for anew while its
// placement lives.
enum class PlaceholderStage {
  kWanted,     // the launch is decided; the executor holds nothing
  kAsked,      // it waits in the executor
  kConfirmed,  // the executor holds what the placement names
  kRefused,    // the executor will not give it
  kReleased,   // its placement has ended: to be taken away
  kGone,       // it is not there any more
};

// What is known of the executor's adapter.
enum class ExecutorContact {
  kSilent,     // not heard of
  kAnswering,  // it says all that its executor runs
  kMute,       // it calls, but its executor does not answer it
};

// What the executor says of a node.
enum class ExecutorNodeState { kUp, kDrained, kDown };

}  // namespace dove
