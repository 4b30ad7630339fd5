// What the State keeps about sessions: who may enter them, which are idle, and which are kept.
//
// The shell observes (IdleObserved, IdleEnded); people keep and share them (JobKept, JobShared).
// Pure; the folds are called by apply only.
#pragma once

#include "core/state/state.h"

namespace dove::core {

// So long after its start a controller may not have heard of all use.
inline constexpr Span kIdleGathering = seconds(120);

// REQUIRES: the event is about `job`'s current attempt. One that is not running, or is already
// known as idle by that check, changes nothing.
void fold_idle(State& state, const Job& job, const IdleObserved& event);
// Without a notice nothing changes.
void end_idle(State& state, JobId job);
// What the rule found does not hold any more: it is another one now.
void end_idle_by(State& state, const std::string& rule);
// The controller started: whoever was warned could not be heard, and has as long again as the
// warning was. A lifetime ends when the warning said.
void renew_idle(State& state);
// When the active job is stopped for it; kNever: it is not idle.
Instant idle_stop_at(const State& state, const Job& job);
// They change nothing for a job that has ended, or an instant that has passed.
void fold_kept(State& state, const Job& job, const JobKept& event);
void fold_shared(State& state, const Job& job, const JobShared& event);
// The job is forgotten.
void forget_session(State& state, JobId job);

}  // namespace dove::core
