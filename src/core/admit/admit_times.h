// Admission by time: the reservation and the deadline of a job, and whether both can be met.
#pragma once

#include "base/result.h"
#include "core/state/state.h"

namespace dove::core {

// May it be submitted as far as its reservation and its deadline go? Errors name the field.
Result<void> admit_times(const State& state, const JobSpec& spec);

}  // namespace dove::core
