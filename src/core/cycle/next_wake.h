// The next instant at which a cycle is due although no event arrives: the earliest change that time
// alone brings.
#pragma once

#include "core/cycle/indexes.h"
#include "core/state/state.h"

namespace dove::core {

// The next instant at which decide could have something new to say without an event; kNever if
// none. Without indexes it looks at everything.
Instant wake_at(const State& state);
Instant wake_at(const State& state, const Indexes& indexes);

}  // namespace dove::core
