// apply and decide: the two functions that live control, recovery, replay and simulation share.
//
// The order within a batch is fixed: all events, then all decisions. Live: step(). Recovery and the
// server's projection: apply() both kinds as they stand in the log, never decide.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/cycle/cycle.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"
#include "model/reason.h"

namespace dove::core {

// Begins a batch: sets `state.now` (never decreasing) and `state.epoch`.
// REQUIRES: at >= state.now, epoch >= state.epoch.
void begin_batch(State& state, Instant at, Epoch epoch);

// Folds one record; it becomes the log position state.head + 1. Unknown ids, repeats and reports of
// attempts that are over change nothing.
void apply(State& state, const StampedEvent& event);
void apply(State& state, const Decision& decision);

// What must be done now. Each decision is already applied to `state` when this returns. Runs the
// named passes in order (core/cycle/cycle.h). The same state gives the same decisions, whatever is
// cached.
// The policies and options must be the same from call to call on one state, or Derived is rebuilt.
std::vector<Decision> decide(State& state, const Policies& policies,
                             const CycleOptions& options = {});

// Names the passes and policies in use, with their versions; logged by ControllerStarted.
std::string policy_digest(const Policies& policies, const CycleOptions& options = {});

// The next instant at which decide could have something new to say without an event; kNever if
// none.
Instant wake_at(const State& state);

// May this be submitted? Checks what the core knows: limits, queue and pool, dependencies' ids,
// amounts, whether any nodes could ever hold it (a warning, not an error). Errors name the field.
Result<std::vector<std::string>> admit(const State& state, const JobSpec& spec);

// May this be done to the job or node? (cancel an ended job, requeue a waiting one, ...)
Result<void> admit(const State& state, const Policies& policies, const Event& event);

// All causes why a waiting job is not started now, each verified: removing the others leaves it.
// Empty for a job that is not waiting. REQUIRES: the job exists.
std::vector<Reason> explain(const State& state, const Policies& policies, JobId job);

// Since when the job could have been started, had there been room: its begin_at and the end of its
// dependencies. None while it cannot. Ignores holds. Job::eligible_at holds it from the first
// launch on.
std::optional<Instant> eligible_at(const State& state, const Job& job);

// Digest over everything in State but Derived. Equal states give equal digests on every machine.
std::uint64_t state_hash(const State& state);

// The first broken invariant of the books, for tests after every step and for checkers.
std::optional<std::string> find_broken_invariant(const State& state);

// A promise that something started after it stands in the way of. What is declared meanwhile (a
// pool's longest time, reservations) may make what runs stay longer than it was to.
std::optional<std::string> find_broken_promise(const State& state);

}  // namespace dove::core
