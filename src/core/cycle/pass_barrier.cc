// The pass kBarrier: gangs that are prepared on all their nodes start.
#include "core/cycle/passes.h"

namespace dove::core {

Back pass_barriers(Cycle& cycle) {
  WorkList<JobId>& work = cycle.indexes.to_start;
  while (!work.empty()) {
    const JobId id = work.take_first();
    const Job* job = cycle.state.find_job(id);
    if (job == nullptr || job->phase != JobPhase::kActive) continue;
    const Attempt& attempt = job->attempts.back();
    if (attempt.stage == Stage::kBarrier) cycle.emit(Start{id, attempt.number});
  }
  return std::nullopt;
}

}  // namespace dove::core
