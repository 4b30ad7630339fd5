// How long an attempt that is stopped may take to leave its places. Pure.
#pragma once

#include "core/state/state.h"

namespace dove::core {

// From the decision to stop an attempt of the job to the end of its last placement.
Span stop_time(const JobSpec& spec);

// When it must be told to end so that it has left its places by `at`; kNever if that is never.
Instant latest_stop(const JobSpec& spec, Instant at);

}  // namespace dove::core
