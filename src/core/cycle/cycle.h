// The cycle: expire, nodes, finish, dependencies, order; then place, promise and preempt until none
// of them has more to do; then barrier and purge.
//
// No pass calls another. Each returns where the cycle continues. The table is in cycle.cc.
#pragma once

#include <string>
#include <vector>

#include "core/cycle/indexes.h"
#include "core/cycle/pass.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// All passes that are switched on. Each decision is applied to the state when this returns.
std::vector<Decision> run_cycle(State& state, Indexes& indexes, const Policies& policies,
                                const CycleOptions& options);

// Names the passes and policies in use, with their versions; logged by ControllerStarted.
std::string policy_digest(const Policies& policies, const CycleOptions& options = {});

}  // namespace dove::core
