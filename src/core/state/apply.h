// apply: the fold. One record of the log, an event or a decision, changes the State.
//
// The order within a batch is fixed: all events, then all decisions. Recovery and the server's
// projection apply both kinds as they stand in the log and never decide (core/cycle/scheduler.h).
#pragma once

#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// Begins a batch: sets `state.now` (never decreasing) and `state.epoch`.
// REQUIRES: at >= state.now, epoch >= state.epoch.
void begin_batch(State& state, Instant at, Epoch epoch);

// Folds one record; it becomes the log position state.head + 1. Unknown ids, repeats and reports of
// attempts that are over change nothing.
void apply(State& state, const StampedEvent& event);
void apply(State& state, const Decision& decision);

// The job that JobSubmitted makes of `spec`, or the first element of its array; it may also be
// asked for to see what would become of it (core/explain).
Job job_of(const State& state, std::shared_ptr<const JobSpec> spec);

}  // namespace dove::core
