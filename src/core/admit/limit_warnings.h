// What a change of pools does to the time limits of jobs that run.
//
// A job without a time limit of its own has its pool's as it is now, not as it was when the job
// began: whoever changes a pool is told how many jobs that concerns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

// The limits of the active jobs without one of their own; 0: none. Ascending by job.
using PoolLimits = std::vector<std::pair<JobId, Span>>;
PoolLimits pool_limits(const State& state);

// For the people who change the pool, in words. `state` has the change in force, `before` is of the
// state without it. Pure.
std::vector<std::string> limit_warnings(const State& state, const PoolLimits& before);

}  // namespace dove::core
