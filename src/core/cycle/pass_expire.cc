// The pass kExpire: what was due by now. Nodes whose fence is over are lost; attempts are stopped
// for an outage, their time limit, being idle, or an order that was not answered; waiting jobs miss
// deadlines.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/cycle/passes.h"
#include "core/cycle/wake.h"
#include "core/place/reservation.h"
#include "core/state/running/sessions.h"

namespace dove::core {
namespace {

void expire_job(Cycle& cycle, const Job& job) {
  const Instant now = cycle.state.now;
  if (job.phase == JobPhase::kWaiting && !job.cancel_requested &&
      missed_at(cycle.state, job) <= now) {
    cycle.emit(EndJob{job.id, Outcome::kDeadlineMissed, 1});
    return;
  }
  if (job.phase != JobPhase::kActive || job.attempts.back().stage == Stage::kStopping) return;
  const AttemptNumber attempt = job.attempts.back().number;
  // One stop, for the reason that is first here. An outage comes before the time limit, as the job
  // may run again after it.
  if (outage_stop_at(cycle.state, job) <= now) {
    cycle.emit(Stop{job.id, attempt, StopReason::kPreempted, Purpose::kOutage});
  } else if (limit_stop_at(cycle.state, job) <= now) {
    cycle.emit(Stop{job.id, attempt, StopReason::kTimeLimit});
  } else if (idle_stop_at(cycle.state, job) <= now) {
    cycle.emit(Stop{job.id, attempt, StopReason::kIdle});
  } else if (deadline_at(cycle.state, job) <= now) {
    // Orders that were not answered: a launch that failed, and may be tried elsewhere.
    cycle.emit(Stop{job.id, attempt, StopReason::kLaunchFailed});
  } else if (placeholders_at(cycle.state, job) <= now) {
    cycle.emit(Stop{job.id, attempt, StopReason::kPlaceholder});
  }
}

}  // namespace

Back expire(Cycle& cycle) {
  Indexes& indexes = cycle.indexes;
  const Instant now = cycle.state.now;
  // Nodes first: an attempt that was on a lost node has that for its reason, whatever else is due.
  // Each decision takes its node out of the set, which ends the loop.
  while (!indexes.node_wakes.empty() && indexes.node_wakes.begin()->first <= now) {
    cycle.emit(DeclareNodeLost{indexes.node_wakes.begin()->second});
  }
  // A wake that was noted may be one of something else that passed: what is due now decides.
  std::vector<std::pair<Instant, JobId>> due;
  for (const auto& [at, id] : indexes.job_wakes) {
    // Collected before anything is decided, as decisions change the set.
    if (at > now) break;
    const Job* job = cycle.state.find_job(id);
    due.push_back({job == nullptr ? at : wake_of(cycle.state, *job, &indexes.singletons), id});
  }
  // By when each was due, and not by when it was noted: the order must be a function of the state.
  std::sort(due.begin(), due.end());
  for (const auto& [at, id] : due) {
    // An attempt that is over on all its nodes ends for its own reason.
    const Job* job = cycle.state.find_job(id);
    if (job != nullptr) expire_job(cycle, *job);
    // Also for a job that was not due: its noted wake has passed, and would be found again in every
    // cycle.
    sync_job(cycle.state, indexes, id);
  }
  return std::nullopt;
}

}  // namespace dove::core
