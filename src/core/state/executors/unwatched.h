// Use in times in which nobody observed what an executor ran, because its adapter or the controller
// was away.
//
// Meanwhile jobs that were known to run are still charged. The first report afterwards lists jobs
// that have begun, which are charged from their start. Only the executor's accounting knows which
// jobs ended: unknown ones are charged then, and what was charged beyond a job's end is given back.
// Pure; apply alone calls these functions.
#pragma once

#include <cstddef>
#include <string>

#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// Times without watch that are kept for an executor; the oldest is given up.
inline constexpr std::size_t kUnwatchedMax = 8;
// The latest that an end is heard of: this long after it, or after the accounting has it.
inline constexpr Span kEndsHeard = seconds(600);
// Within this an adapter that is gone, or does not hear its executor, is noted.
inline constexpr Span kAbsenceNoted = seconds(120);

// A record that was made already changes nothing.
void fold(State& state, const ForeignWatchResumed& event);
// A part that is not the next of a time that is known changes nothing: it came twice.
void fold(State& state, const ForeignUseFound& event);

// What it runs is in the state, up to now: not before it was heard completely by the controller
// that leads, for the contact is still that of the one before.
void note_watched(State& state, const std::string& executor);
// Before the contact changes to `next`.
void note_contact(const State& state, ExecutorStanding& standing, ExecutorContact next);
// Charges an allocation that nobody knew for the time without watch that has just ended.
void charge_start(State& state, const std::string& executor, const ForeignAllocation& allocation);
// Remembers what an allocation held that has ended.
void note_end(State& state, const std::string& executor, const ForeignAllocation& allocation);

}  // namespace dove::core
