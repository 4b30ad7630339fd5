// StepLedger: what the steps of running attempts hold of their placements. It is the only place
// that knows, so that no two steps get the same core, device or byte.
//
// A step holds what it asked for by itself (srun --exact, --exclusive, --gpus, ...). A step that
// asked for nothing shares all of its job and holds nothing. Not in the log: after a restart of the
// server each step's client reports what it was given (Steps::attach). Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "backends/step.h"
#include "model/ids.h"
#include "model/placement.h"

namespace dove::backends {

using StepId = std::tuple<JobId, AttemptNumber, std::int32_t>;

class StepLedger {
 public:
  void hold(const StepId& step, NodeId node, StepHolding holding);
  // The step is over on the node; whether it held something there.
  bool release(const StepId& step, NodeId node);
  // What is left of the placement. Never less than nothing.
  StepHolding free(JobId job, AttemptNumber attempt, const Placement& placement) const;

 private:
  std::map<std::pair<StepId, NodeId>, StepHolding> held_;
};

}  // namespace dove::backends
