// What a plan leaves free of what a node lends to the executor of a job. Pure.
#pragma once

#include <optional>

#include "core/plan/plan.h"

namespace dove::core {

// As free_during, but for a job that an executor is to run only what that executor is lent.
std::optional<FreeBooks> lent_during(const State& state, const NodePlan& plan, const Node& node,
                                     const Claim& claim);

// Whether the placement is free all through the claim, and within what the job's executor is lent.
bool fits_during(const State& state, const NodePlan& plan, const Node& node, const Claim& claim,
                 const Placement& placement);

}  // namespace dove::core
