// Wake: when time alone will give decide something to do.
#pragma once

#include <optional>

#include "core/state/state.h"

namespace dove::core {

// Beyond the fence itself: a lease is renewed and read by clocks of two machines, by timers that
// may be late. What was declared lost must have been ended by its shim before.
constexpr Span kFence_margin = seconds(1);

// When the node counts as lost unless it is heard of; kNever when it is connected, lost or removed.
Instant lost_at(const State& state, const Node& node);

// The attempt must be stopped at this instant for its time, its deadline, or the end of its
// reservation; kNever without a limit. A job that saves its work before it is preempted has its
// limit for all attempts together.
Instant time_limit_at(const State& state, const Job& job);

// From then on the waiting job can no longer end by its deadline; kNever without one.
Instant missed_at(const State& state, const Job& job);

// An order counts as failed at this instant unless it is answered.
Instant deadline_at(const State& state, const Job& job);

// The next instant at which time alone changes something for the job.
Instant wake_of(const State& state, const Job& job);

}  // namespace dove::core
