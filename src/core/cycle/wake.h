// Wake: when time alone will give decide something to do.
#pragma once

#include "core/state/dependency.h"
#include "core/state/state.h"

namespace dove::core {

// Beyond the fence itself: a lease is renewed and read by clocks of two machines, by timers that
// may be late. What was declared lost must have been ended by its shim before.
constexpr Span kFence_margin = seconds(1);

// When the node counts as lost unless it is heard of; kNever when it is connected, lost or removed.
Instant lost_at(const State& state, const Node& node);

// An order counts as failed at this instant unless it is answered.
Instant deadline_at(const State& state, const Job& job);

// The next instant at which time alone changes something for the job.
Instant wake_of(const State& state, const Job& job, const Singletons* index = nullptr);

}  // namespace dove::core
