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

#include "base/result.h"
#include "core/state/state.h"

namespace dove::server {

struct StepRequest {
  std::int32_t tasks = 0;             // 0: one for each slot of the attempt on the nodes taken
  std::int32_t nodes = 0;             // 0: all of the attempt, as far as there are tasks
  std::int32_t tasks_per_node = 0;    // 0: as many as fit
  std::int32_t cores_per_task = 0;    // 0: as the job's tasks
  std::vector<std::string> nodelist;  // non-empty: only these, in the attempt's order
  bool overcommit = false;            // more tasks than cores
};

struct StepNode {
  NodeId node;
  std::vector<TaskGrant> tasks;  // rank: position in the step
};

// Errors: kInvalid step_too_large, no_such_node_in_job (names what there is).
Result<std::vector<StepNode>> lay_out_step(const core::State& state, const core::Attempt& attempt,
                                           const StepRequest& request);

}  // namespace dove::server
