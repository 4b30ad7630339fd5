// Derived: indexes and cached verdicts over a State, so that decide looks only at what changed.
//
// apply notes what it touched; sync brings the indexes up to date. Built when decide first needs it
// (a fork, a snapshot, a projection have none) and thrown away when something declared changes.
// Decisions never depend on whether it was kept or rebuilt: each pass takes its work in ascending
// order of job id and asks the State, not the cache, what to do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/collections/ordered_set.h"
#include "core/collections/short_list.h"
#include "core/collections/work_list.h"
#include "core/cycle/cycle.h"
#include "core/place/domain.h"
#include "core/place/limits.h"
#include "core/place/place.h"
#include "core/place/score_board.h"
#include "core/plan/plan.h"
#include "core/queue/policy.h"
#include "core/queue/queue_tree.h"
#include "core/state/state.h"

namespace dove::core {

// The available nodes of a pool.
struct PoolNote {
  std::string name;
  RankedNodes nodes;
  NodeFree free;    // of all of them
  Domains domains;  // by the units they are in
};

enum class Verdict {
  kOpen,       // to be tried
  kNoPlace,    // until something is freed that could matter
  kOverLimit,  // until usage falls
  kChanging,   // until any book changes: the search may miss, or a limit hung on the nodes found
  kDeclared,   // until something declared changes (pool closed, time limit)
};

// Waiting jobs that ask for the same, under the same limits and promises: they share one verdict.
struct WaitClass {
  std::uint64_t digest = 0;
  std::shared_ptr<const JobSpec> spec;
  std::vector<NodeId> avoided;
  JobId array;                        // of its own limit; none without one
  std::int32_t priority = 0;          // of its jobs ...
  bool comes_first = false;           // ... and whether they do: promises bind by these
  std::int32_t restart_nodes = 0;     // of its jobs, as reservations see them
  const PoolNote* pool = nullptr;     // null: there is none
  mutable std::uint32_t account = 0;  // as of its jobs
  Amount least;                       // that a job of it can hold
  NodeNeeds needs;                    // of a job of it, on all its nodes together
  bool monotone = true;               // what did not fit cannot fit until something is freed
  OrderedSet<QueueKey> jobs;
  Verdict verdict = Verdict::kOpen;
  std::uint64_t books_version = 0;  // when the verdict was found
  std::int32_t lane = 0;            // in Derived::tree
  std::optional<QueueKey> head;     // as the tree knows it
  bool open = false;                // as the tree knows it
};

// Classes by number, from 1. Numbers of those that were dropped are given again.
class WaitClasses {
 public:
  // REQUIRES: there is one of this number.
  WaitClass& at(std::uint64_t id) { return *classes_[id - 1]; }
  const WaitClass& at(std::uint64_t id) const { return *classes_[id - 1]; }
  // Null when there is none.
  const WaitClass* find(std::uint64_t id) const {
    return id == 0 || id > classes_.size() ? nullptr : classes_[id - 1].get();
  }
  std::size_t size() const { return classes_.size() - free_.size(); }
  std::uint64_t last() const { return classes_.size(); }  // no number is larger

  std::uint64_t add() {
    std::uint64_t id = classes_.size() + 1;
    if (free_.empty()) {
      classes_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    classes_[id - 1] = std::make_unique<WaitClass>();
    return id;
  }
  void drop(std::uint64_t id) {
    classes_[id - 1].reset();
    free_.push_back(id);
  }

 private:
  std::vector<std::unique_ptr<WaitClass>> classes_;  // by number - 1; null: dropped
  std::vector<std::uint64_t> free_;
};

// With its id it fills one line of memory.
struct JobNote {
  bool live = false;    // as last counted
  bool active = false;  // as last counted
  bool ends = false;    // active, and it is known when at the latest
  bool forgettable = false;
  AttemptNumber attempt = 0;  // that held this many places, as last counted
  std::int32_t places = 0;
  std::uint32_t wait_class = 0;  // 0: not queued
  QueueKey key;                  // while queued
  Instant wake = kNever;
  Instant ended_at;  // as last counted; 0 while alive
};

struct NodeNote {
  bool known = false;
  bool available = false;
  NodeRank rank = {};
  NodeFree free;                  // as last counted; nothing while it is not available
  ShortList<PoolNote*, 1> pools;  // that it is in
  Total total;                    // as last counted; nothing while it is not available
  Instant wake = kNever;
};

struct ArrayNote {
  std::int32_t live = 0;
  std::int32_t active = 0;
};

struct Derived {
  Policies policies;
  bool by_order_policy = true;
  std::uint64_t books_version = 1;

  // noted by apply, consumed by sync
  std::vector<JobId> touched;
  std::vector<NodeId> nodes_touched;
  std::vector<NodeId> nodes_given;
  std::vector<NodeId> nodes_taken;
  bool usage_fell = false;
  // what sync is at
  struct Batch {
    std::vector<JobId> jobs;
    std::vector<NodeId> nodes_touched;
    std::vector<NodeId> nodes_given;
    std::vector<NodeId> nodes_freed;  // both
    std::vector<NodeId> nodes_taken;
  };
  Batch batch;

  // work of the passes
  WorkList<JobId> to_finish;
  WorkList<JobId> to_check;  // waiting, dependencies may have changed
  WorkList<JobId> to_order;  // waiting, ready or not may have changed
  WorkList<JobId> to_start;

  std::set<NodeId> in_care;     // not simply in production (core/nodes/care.h)
  std::set<JobId> preemptible;  // active ones whose owner allows it
  std::set<JobId> stopping;     // active ones that are being stopped

  IdMap<JobId, JobNote> jobs;
  std::vector<NodeNote> nodes;  // by NodeId - 1
  std::map<JobId, ArrayNote> arrays;
  std::map<JobId, std::set<JobId>> dependents;  // live jobs by the id that they name
  std::set<JobId> singletons;  // live ones that wait, or waited, for others of their name
  // Live, by user and name; kept while there are singletons.
  std::map<std::pair<std::string, std::string>, std::set<JobId>> named;

  WaitClasses classes;
  std::multimap<std::uint64_t, std::uint64_t> classes_by_digest;
  QueueTree tree;
  Total total;
  OrderedSet<std::uint64_t> no_place;
  OrderedSet<std::uint64_t> over_limit;
  OrderedSet<std::uint64_t> changing;

  std::map<std::string, PoolNote> pools;  // all of the State's
  ScoreBoard scores;
  OrderedSet<std::pair<Instant, JobId>> job_wakes;
  OrderedSet<std::pair<Instant, NodeId>> node_wakes;  // fences; may be early, never late
  OrderedSet<std::pair<Instant, JobId>> forgettable;  // ended jobs nobody depends on
  std::int64_t ended_count = 0;

  Plan plan;
  std::size_t decided = 0;  // so many decisions the last cycle made
};

// For apply: notes a change when there is a Derived.
void touch(State& state, JobId job);
void touch(State& state, NodeId node);  // whatever of it may have changed
// Nothing of it but what it has free, which is more, or less.
void touch_given(State& state, NodeId node);
void touch_taken(State& state, NodeId node);
void note_usage_fell(State& state);

// Makes the Derived of `state` fit for a cycle: builds it if needed, then syncs.
void prepare_derived(State& state, const Policies& policies, const CycleOptions& options);
// Brings indexes up to date with what apply noted.
void sync(State& state);

// -- parts of sync, by noun ----------------------------------------------------------------------

void sync_node(State& state, NodeId node);
void sync_free(State& state, NodeId node);  // when nothing else of it has changed
void sync_job(State& state, JobId job);
void sync_wake(State& state, JobId job);
// Of the pool that the job asks for; null when there is none.
PoolNote* pool_note(const State& state, const JobSpec& spec);
// Puts a waiting job into, or takes it out of, the queue.
void enqueue(State& state, const Job& job, JobNote& note);
void dequeue(State& state, JobNote& note);
// Whether so many elements of the class's array run as may at once.
bool array_is_full(const Derived& derived, const WaitClass& it);
// That, or a limit of a queue, user or cluster keeps the class's jobs.
bool is_over_limit(State& state, const WaitClass& it);
// Drops classes that nobody waits in, when there are many.
void purge_classes(State& state);
// Sets the class's verdict, whether it is to be tried, and its membership of `no_place` and others.
void set_verdict(State& state, std::uint64_t id, Verdict verdict);
// Closes those of the pool's classes that are to be tried and for which too little is left, as they
// would be in their turn.
void close_too_much(State& state, const PoolNote* pool);
// Whether all that is free in the class's pool together would not do for a job of it.
bool is_too_much(const WaitClass& it);
// Reopens classes whose verdict could be another one now that `freed` nodes have more.
void reopen(State& state, const std::vector<NodeId>& freed);
// Reopens all classes: so a cycle begins that has no caches.
void reopen_all(State& state);
// Reopens classes whose verdict lasts until any book changes, if one has or may do so now: then
// they must be tried in their turn, as they would be without caches.
void reopen_changing(State& state);
// Whether new work may be placed on the node.
bool is_available(const Node& node);

}  // namespace dove::core
