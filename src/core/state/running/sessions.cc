#include "core/state/running/sessions.h"

#include <algorithm>

namespace dove::core {

void fold_idle(State& state, const Job& job, const IdleObserved& event) {
  if (job.attempts.back().stage != Stage::kRunning) return;
  const auto known = state.idle.find(job.id);
  // The first warning counts: a second one for the same check would move the end away each time.
  // That of a former attempt is over. Programs of the first level took it for the present one's.
  if (known != state.idle.end() && known->second.check == event.check &&
      (known->second.attempt == event.attempt || state.level <= kFirstLevel)) {
    return;
  }
  state.idle[job.id] = {event.attempt,  event.check, event.rule,
                        event.evidence, state.now,   state.now + event.warning};
}

void end_idle(State& state, JobId job) { state.idle.erase(job); }

void end_idle_by(State& state, const std::string& rule) {
  std::erase_if(state.idle, [&](const auto& one) {
    if (one.second.rule != rule) return false;
    state.changes.touch(one.first);
    return true;
  });
}

// The warning is what the rule says, so that it does not grow with each start; it lasts until those
// that report use have been heard again.
void renew_idle(State& state) {
  for (auto& [job, notice] : state.idle) {
    const auto rule = state.idle_rules.find(notice.rule);
    if (notice.check == IdleCheck::kLifetime || rule == state.idle_rules.end()) continue;
    notice.ends_at =
        std::max(notice.ends_at, state.now + std::max(rule->second.warning, kIdleGathering));
  }
}

Instant idle_stop_at(const State& state, const Job& job) {
  const auto notice = state.idle.find(job.id);
  // A former attempt may have ended for it: logs of the first level keep that notice.
  const bool is_now =
      notice != state.idle.end() && notice->second.attempt == job.attempts.back().number;
  return is_now ? notice->second.ends_at : kNever;
}

void fold_kept(State& state, const Job& job, const JobKept& event) {
  // Kept until an instant that has passed: the call came late, and changes nothing.
  if (job.phase == JobPhase::kEnded || event.until <= state.now) return;
  state.kept[job.id] = event.until;
  const auto idle = state.idle.find(job.id);
  // To keep a session takes its warning back, but lengthens no lifetime.
  if (idle != state.idle.end() && idle->second.check != IdleCheck::kLifetime) {
    state.idle.erase(idle);
  }
}

void fold_shared(State& state, const Job& job, const JobShared& event) {
  if (event.users.empty()) {
    state.shared.erase(job.id);
  } else {
    state.shared[job.id] = event.users;
  }
}

void forget_session(State& state, JobId job) {
  state.idle.erase(job);
  state.kept.erase(job);
  state.shared.erase(job);
}

}  // namespace dove::core
