// The pass kDependencies: jobs that can never start for what they wait for end; the others are to
// be put in order.
#include "core/cycle/passes.h"
#include "core/state/dependency.h"

namespace dove::core {

Back resolve_dependencies(Cycle& cycle) {
  Indexes& indexes = cycle.indexes;
  while (!indexes.to_check.empty()) {
    const JobId id = indexes.to_check.take_first();
    const Job* job = cycle.state.find_job(id);
    if (job == nullptr || job->phase != JobPhase::kWaiting) continue;
    // Once eligible, nothing that it depended on matters any more, also when it is requeued.
    if (job->eligible_at.us == 0 && !job->spec->dependencies.empty() &&
        check_dependencies(cycle.state, *job, &indexes.singletons).level ==
            DependencyLevel::kNever) {
      cycle.emit(EndJob{id, Outcome::kDependencyNeverMet, 1});
      continue;
    }
    indexes.to_order.insert(id);
  }
  return std::nullopt;
}

}  // namespace dove::core
