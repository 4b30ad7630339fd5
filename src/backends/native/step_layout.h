// StepLayout: which tasks of a step run where, inside the placements of an attempt.
//
// Tasks are given out in blocks: one to each node first, then node after node up to what the
// attempt holds there. What a node's slots hold is split among the step's tasks on it, so a single
// task (a launch agent) sees all of it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/step.h"
#include "base/result.h"
#include "core/state/state.h"

namespace dove::backends {

struct StepNode {
  NodeId node;
  std::vector<TaskGrant> tasks;  // rank: position in the step
};

// Errors: kInvalid step_too_large, no_such_node_in_job (names what there is).
Result<std::vector<StepNode>> lay_out_step(const core::State& state, const core::Attempt& attempt,
                                           const StepRequest& request);

}  // namespace dove::backends
