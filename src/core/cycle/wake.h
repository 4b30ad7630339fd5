// Wake: the next instant at which time alone gives decide something to do.
#pragma once

#include "core/state/dependency.h"
#include "core/state/state.h"

namespace dove::core {

// An order counts as failed at this instant unless it is answered.
Instant deadline_at(const State& state, const Job& job);

// An attempt that waits for placeholders is placed anew at this instant.
Instant placeholders_at(const State& state, const Job& job);

// The next instant at which time alone changes something for the job.
Instant wake_of(const State& state, const Job& job, const Singletons* index = nullptr);

}  // namespace dove::core
