// The pass kOrder: jobs that may start now are queued by their order policy, all others are not.
#include "core/cycle/passes.h"
#include "core/state/dependency.h"

namespace dove::core {
namespace {

bool is_ready(const State& state, const Indexes& indexes, const Job& job) {
  return job.phase == JobPhase::kWaiting && !job.held && !job.cancel_requested &&
         startable_at(state, job, &indexes.singletons) <= state.now;
}

}  // namespace

Back order(Cycle& cycle) {
  Indexes& indexes = cycle.indexes;
  // Empty unless kDependencies is off. Then what it would have looked at is only put in order.
  while (!indexes.to_check.empty()) indexes.to_order.insert(indexes.to_check.take_first());
  if (!indexes.to_order.empty()) indexes.plan.looks = true;
  while (!indexes.to_order.empty()) {
    const JobId id = indexes.to_order.take_first();
    const Job* job = cycle.state.find_job(id);
    // The job may have been forgotten since it was noted.
    const auto entry = indexes.jobs.find(id);
    if (job == nullptr || entry == indexes.jobs.end()) continue;
    if (is_ready(cycle.state, indexes, *job)) {
      enqueue(cycle.state, indexes, *job, entry->second);
    } else {
      // A promise to a job that no longer waits for places keeps nodes free for nobody: it is
      // looked at, and withdrawn.
      dequeue(indexes, entry->second);
      if (cycle.state.promises.contains(id)) indexes.plan.to_check.insert(id);
    }
    // A delay may run from what has just happened to another job.
    sync_wake(cycle.state, indexes, id);
  }
  return std::nullopt;
}

}  // namespace dove::core
