// StepLayout: which tasks of a step run where, inside the placements of an attempt, and what they
// see of it.
//
// Tasks are distributed in blocks: one to each node first, then node after node up to its capacity.
// A step that asks for nothing but tasks shares everything that its job holds: the contents of a
// node's slots are split among its tasks, so a single task (a launch agent) sees all of it. A step
// that asks for cores, devices or memory gets them from what no other such step holds, or has to
// wait. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/native/steps/step_ledger.h"
#include "backends/step.h"
#include "base/result.h"
#include "core/state/state.h"

namespace dove::backends {

struct StepNode {
  NodeId node;
  std::vector<TaskGrant> tasks;   // rank: position in the step
  bool devices_given = false;     // its tasks see `devices` of their grants, even none
  StepHolding holding = {};       // what no other step gets meanwhile
  std::int64_t memory_bytes = 0;  // that its tasks may use; 0: as the job
};

// Errors: kInvalid step_too_large, no_such_node_in_job, no_such_device (name what there is);
// kConflict step_must_wait: it fits once other steps have ended. REQUIRES: the job has an attempt.
Result<std::vector<StepNode>> lay_out_step(const core::State& state, const core::Job& job,
                                           const StepRequest& request, const StepLedger& ledger);

}  // namespace dove::backends
