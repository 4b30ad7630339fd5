// Whether a promise can be kept earlier than planned, because what it waits for may end early.
#pragma once

#include <optional>

#include "core/plan/plan.h"
#include "core/state/state.h"

namespace dove::core {

// The earliest instant at which all places of the promise are free, if that is before the promised
// one. Remembers in `note` the node that stands in the way. REQUIRES: the job is there.
std::optional<Instant> earlier_start(const State& state, Plan& all, JobId id,
                                     const PromiseRecord& promise, PlannedPromise& entry);

}  // namespace dove::core
