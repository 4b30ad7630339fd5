#include "core/cycle/wake.h"

#include <algorithm>

#include "core/place/reservation.h"
#include "core/preempt/victims.h"
#include "core/state/books.h"
#include "core/state/dependency.h"
#include "core/state/executors/placeholders.h"
#include "core/state/running/sessions.h"

namespace dove::core {

Instant deadline_at(const State& state, const Job& job) {
  const Attempt& attempt = job.attempts.back();
  switch (attempt.stage) {
    case Stage::kAllocated:
    case Stage::kPreparing:
      // An executor prepares by confirming placeholders.
      if (!job.spec->executor.empty()) return kNever;
      return attempt.stage_at + state.settings.effect_deadline;
    case Stage::kStarting:
      return attempt.stage_at + state.settings.effect_deadline;
    // No order to a node is open here. At the barrier only placeholders are awaited, which have an
    // instant of their own (placeholders_at).
    case Stage::kBarrier:
    case Stage::kRunning:
    case Stage::kStopping:
    case Stage::kEnded:
      return kNever;
  }
  return kNever;
}

Instant placeholders_at(const State& state, const Job& job) {
  const Attempt& attempt = job.attempts.back();
  // A job of ours waits for placeholders after its own preparation, one that an executor runs is
  // prepared by them.
  const bool prepares = attempt.stage == Stage::kBarrier ||
                        (!job.spec->executor.empty() && attempt.stage < Stage::kBarrier);
  const bool waits = prepares && !placeholders_confirmed(state, job.id, attempt);
  return waits ? attempt.stage_at + state.settings.effect_deadline : kNever;
}

Instant wake_of(const State& state, const Job& job, const Singletons* index) {
  switch (job.phase) {
    case JobPhase::kWaiting: {
      if (job.cancel_requested) return kNever;
      // What has passed wakes nobody: the order pass has seen it. A job that another event makes
      // startable is noted then.
      const Instant at = startable_at(state, job, index);
      const Instant missed = missed_at(state, job);
      return std::min(at > state.now ? at : kNever, missed);
    }
    case JobPhase::kActive:
      // It was told to end already: no instant could add anything to that.
      if (job.attempts.back().stage == Stage::kStopping) return kNever;
      // Everything by which kExpire or kPreempt could act on it. Whatever is left out here is done
      // late, at the next event.
      return std::min({limit_stop_at(state, job), deadline_at(state, job),
                       placeholders_at(state, job), outage_stop_at(state, job),
                       idle_stop_at(state, job), victim_wake(state, job)});
    case JobPhase::kEnded:
      return kNever;
  }
  return kNever;
}

}  // namespace dove::core
