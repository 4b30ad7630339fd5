// Indexes: data kept beside a State so that decide looks only at what changed.
//
// The Scheduler (core/cycle/scheduler.h) owns them together with the State that they follow. The
// fold records what it touched (core/state/changes.h), and sync brings the indexes up to date. They
// are built when decide first needs them, and rebuilt when a declaration changes. Decisions never
// depend on whether they were kept or rebuilt: each pass works in ascending order of job id and
// asks the State, not the index, what to do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/collections/generation.h"
#include "core/collections/ordered_set.h"
#include "core/collections/short_list.h"
#include "core/collections/work_list.h"
#include "core/cycle/equivalence_class.h"
#include "core/cycle/pass.h"
#include "core/place/pool_index.h"
#include "core/place/score_board.h"
#include "core/plan/plan.h"
#include "core/queue/policy.h"
#include "core/queue/queue_tree.h"
#include "core/state/dependency.h"
#include "core/state/state.h"

namespace dove::core {

// With its id it fills one line of memory.
struct IndexedJob {
  bool live = false;    // as last counted
  bool active = false;  // as last counted
  bool ends = false;    // active, and it is known when at the latest
  bool forgettable = false;
  bool begun = false;         // as last counted: its tasks have run, in whatever attempt
  AttemptNumber attempt = 0;  // that held this many places, as last counted
  std::int32_t places = 0;
  std::uint32_t equivalence_class = 0;  // 0: not queued
  QueueKey key;                         // while queued
  Instant wake = kNever;
  Instant ended_at;  // as last counted; 0 while alive
};

struct IndexedNode {
  bool known = false;
  bool available = false;
  NodeRank rank = {};
  NodeFree free;                   // as last counted; nothing while it is not available
  ShortList<PoolIndex*, 1> pools;  // that it is in
  Total total;                     // as last counted; nothing while it is not available
  Instant wake = kNever;
};

struct IndexedArray {
  std::uint64_t elements = 0;  // their ids follow one another, from that of the array on
  std::int32_t live = 0;
  std::int32_t active = 0;
  bool forgettable = false;  // as last counted
  Instant last_end;          // of its ended elements
};

// When a job ended, after when the last of its array did: elements go in turn, and the one that
// ended last goes last.
struct ForgetKey {
  Instant from;
  Instant ended_at;
  JobId job;
  auto operator<=>(const ForgetKey&) const = default;
};

using KeptNodes = std::map<JobId, std::vector<NodeId>>;  // core/cycle/kept_nodes.h

struct Indexes {
  Policies policies;
  bool by_order_policy = true;
  std::int32_t month = 0;  // that they were built in: limits by month are compared with it
  Generation books;        // of what is free, used or promised

  // what sync is at
  struct Batch {
    std::vector<JobId> jobs;
    std::vector<NodeId> nodes_touched;
    std::vector<NodeId> nodes_released;
    std::vector<NodeId> nodes_freed;  // both
    std::vector<NodeId> nodes_allocated;
  };
  Batch batch;

  // work of the passes
  WorkList<JobId> to_finish;
  WorkList<JobId> to_check;  // waiting, dependencies may have changed
  WorkList<JobId> to_order;  // waiting, ready or not may have changed
  WorkList<JobId> to_start;

  std::set<NodeId> in_maintenance;  // not simply in production (core/nodes/maintenance.h)
  std::set<JobId> preemptible;      // active ones whose owner allows it
  std::set<JobId> stopping;         // active ones that are being stopped
  std::set<JobId> preempted;        // live ones that ever were

  IdMap<JobId, IndexedJob> jobs;
  ById<NodeId, IndexedNode> nodes;
  std::map<JobId, IndexedArray> arrays;
  std::map<JobId, std::set<JobId>> dependents;  // live jobs by the id that they name
  std::map<JobId, std::set<JobId>> waiters;     // the same by whom they wait for, counterpart_of()
  Singletons singletons;

  EquivalenceClasses classes;
  std::multimap<std::uint64_t, std::uint64_t> classes_by_digest;
  QueueTree tree;
  Total total;
  OrderedSet<std::uint64_t> no_place;
  OrderedSet<std::uint64_t> over_limit;
  OrderedSet<std::uint64_t> changing;

  PoolIndexes pools;
  ScoreBoard scores;
  OrderedSet<std::pair<Instant, JobId>> job_wakes;
  OrderedSet<std::pair<Instant, NodeId>> node_wakes;  // fences; may be early, never late
  OrderedSet<ForgetKey> forgettable;                  // ended jobs nobody depends on
  std::int64_t ended_count = 0;

  Plan plan;
  KeptNodes kept_nodes;     // as kPlace last found them
  std::size_t decided = 0;  // how many decisions the last cycle made
};

// Makes the indexes fit for a cycle: builds them unless they follow this State, with these policies
// and options; then syncs.
void prepare(State& state, Indexes& indexes, const Policies& policies, const CycleOptions& options);
// Brings the indexes up to date with what the fold noted.
void sync(State& state, Indexes& indexes);

// -- parts of sync, by noun ----------------------------------------------------------------------

void sync_node(const State& state, Indexes& indexes, NodeId node);
// When nothing else of it has changed.
void sync_free(const State& state, Indexes& indexes, NodeId node);
void sync_job(State& state, Indexes& indexes, JobId job);
void sync_wake(const State& state, Indexes& indexes, JobId job);
// Retention (forgetting.cc). The entry of the job's array, made if need be; where an ended job
// stands in the queue; an element has ended, so its array stands by its last end.
IndexedArray& array_of(Indexes& indexes, const Job& element);
ForgetKey forget_key(const Indexes& indexes, JobId id, const IndexedJob& entry);
void note_end(const State& state, Indexes& indexes, const Job& element);
// Puts into that queue, or takes out, after a change: a job; an array; what `id` names.
void set_forgettable(Indexes& indexes, const Job& job);
void set_array_forgettable(const State& state, Indexes& indexes, JobId id);
void set_forgettable_named(const State& state, Indexes& indexes, JobId id);
// The index of the pool that the job asks for; null when there is none.
const PoolIndex* pool_index_of(const State& state, const Indexes& indexes, const JobSpec& spec);

}  // namespace dove::core
