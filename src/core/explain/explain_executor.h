// Why an executor cannot be given a job that it is to run, regardless of what is free.
#pragma once

#include <optional>

#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// None for a job that our agents run, and where some node of its pool can be given to it.
std::optional<Reason> executor_reason(const State& state, const Job& job);

}  // namespace dove::core
