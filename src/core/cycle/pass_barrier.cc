// The pass kBarrier: attempts start that are prepared on all their nodes, and for which executors
// there hold what they were given.
#include "core/cycle/passes.h"
#include "core/state/executors/placeholders.h"
#include "core/state/read_ahead.h"

namespace dove::core {

Back pass_barriers(Cycle& cycle) {
  WorkList<JobId>& work = cycle.indexes.to_start;
  ReadAhead read_ahead(cycle.state, false);
  while (!work.empty()) {
    read_ahead.before([&] { return work.soon(); });
    const JobId id = work.take_first();
    const Job* job = cycle.state.find_job(id);
    if (job == nullptr || job->phase != JobPhase::kActive) continue;
    const Attempt& attempt = job->attempts.back();
    // An attempt that is to stop must not be started on the way: its tasks would run for an
    // instant, and count.
    if (attempt.stage != Stage::kBarrier || attempt.stop_reason != StopReason::kNone) continue;
    // Not confirmed yet: the executor's answer touches the job, and it is looked at again.
    if (placeholders_confirmed(cycle.state, id, attempt)) cycle.emit(Start{id, attempt.number});
  }
  return std::nullopt;
}

}  // namespace dove::core
