// explain: why a waiting job is not started now.
//
// Pure. It reads only the State, so it works on a projection that never decides. For many such
// questions use core/explain/explanations.h.
#pragma once

#include <vector>

#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

class ExplainIndex;

// All causes why a waiting job is not started now, each verified: removing the others leaves it.
// Empty for a job that is not waiting. REQUIRES: the job exists.
std::vector<Reason> explain(const State& state, const Policies& policies, JobId job);

// The same for a job that the state need not hold.
std::vector<Reason> explain(const State& state, const Policies& policies, const Job& job);
std::vector<Reason> explain(ExplainIndex& index, const Job& job);

}  // namespace dove::core
