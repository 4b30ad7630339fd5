// EquivalenceClass: waiting jobs that no search can tell apart, so that one verdict serves all of
// them.
//
// It is part of the Indexes (core/cycle/indexes.h). A verdict says whether to try, never what to
// decide.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/collections/generation.h"
#include "core/collections/ordered_set.h"
#include "core/place/pool_index.h"
#include "core/queue/queue_order.h"
#include "core/state/amount.h"
#include "core/state/state.h"

namespace dove::core {

struct Indexes;
struct IndexedJob;

enum class Verdict {
  kOpen,       // to be tried
  kNoPlace,    // until something is freed that could matter
  kOverLimit,  // until usage falls
  kChanging,   // until any book changes: the search may miss, or a limit was about the nodes found
  kDeclared,   // until something declared changes (pool closed, time limit)
};

// Waiting jobs that ask for the same, under the same limits and promises: they share one verdict.
struct EquivalenceClass {
  std::uint64_t digest = 0;
  std::shared_ptr<const JobSpec> spec;
  std::vector<NodeId> avoided;
  JobId array;                      // of its own limit; none without one
  std::int32_t priority = 0;        // of its jobs ...
  bool comes_first = false;         // ... and whether they do: promises bind by these
  std::int32_t restart_nodes = 0;   // of its jobs, as reservations see them
  Span saved = {};                  // of their limit, where they have to be over by some instant
  const PoolIndex* pool = nullptr;  // null: there is none
  std::uint32_t account = 0;        // as of its jobs
  Amount least;                     // that a job of it can hold
  NodeNeeds needs;                  // of a job of it, on all its nodes together
  NodeNeeds least_task;             // no task needs fewer cores or devices; memory is not looked at
  bool monotone = true;             // what did not fit cannot fit until something is freed
  OrderedSet<QueueKey> jobs;
  Instant waits_from = kNever;  // none of its jobs has waited since before; may be too early
  Verdict verdict = Verdict::kOpen;
  Generation books;              // when the verdict was found
  std::int32_t user_queue = 0;   // in Indexes::tree
  std::optional<QueueKey> head;  // as the tree knows it
  bool open = false;             // as the tree knows it
};

// Classes by number, from 1. Numbers of those that were dropped are given again.
class EquivalenceClasses {
 public:
  // REQUIRES: there is one of this number.
  EquivalenceClass& at(std::uint64_t id) { return *classes_[id - 1]; }
  const EquivalenceClass& at(std::uint64_t id) const { return *classes_[id - 1]; }
  // Null when there is none.
  EquivalenceClass* find(std::uint64_t id) {
    return id == 0 || id > classes_.size() ? nullptr : classes_[id - 1].get();
  }
  const EquivalenceClass* find(std::uint64_t id) const {
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
    classes_[id - 1] = std::make_unique<EquivalenceClass>();
    return id;
  }
  void drop(std::uint64_t id) {
    classes_[id - 1].reset();
    free_.push_back(id);
  }

 private:
  std::vector<std::unique_ptr<EquivalenceClass>> classes_;  // by number - 1; null: dropped
  std::vector<std::uint64_t> free_;
};

// Puts a waiting job into, or takes it out of, the queue.
void enqueue(const State& state, Indexes& indexes, const Job& job, IndexedJob& entry);
void dequeue(Indexes& indexes, IndexedJob& entry);
// Whether as many elements of the class's array run as may at once.
bool array_is_full(const Indexes& indexes, const EquivalenceClass& it);
// That, or a limit of a queue, user or cluster keeps the class's jobs.
bool is_over_limit(State& state, const Indexes& indexes, EquivalenceClass& it);
// Drops classes that nobody waits in, when there are many.
void purge_classes(Indexes& indexes);
// Sets the class's verdict, whether it is to be tried, and its membership of `no_place` and others.
void set_verdict(Indexes& indexes, std::uint64_t id, Verdict verdict);
// Closes those of the pool's classes that are to be tried and for which too little is left, as they
// would be in their turn.
void close_too_much(State& state, Indexes& indexes, const PoolIndex* pool);
// Whether all that is free in the class's pool together would not do for a job of it.
bool is_too_much(const EquivalenceClass& it);
// Reopens classes whose verdict could be another one now that `freed` nodes have more, or usage
// fell.
void reopen(State& state, Indexes& indexes, const std::vector<NodeId>& freed, bool usage_fell);
// Reopens all classes, so that a cycle begins as one without caches, but for those in `tried`.
// Whether there was any.
bool reopen_all(Indexes& indexes, const std::set<std::uint64_t>& tried = {});
// Reopens classes whose verdict lasts until any book changes, if one has or may do so now: then
// they must be tried in their turn, as they would be without caches.
void reopen_changing(Indexes& indexes);

}  // namespace dove::core
