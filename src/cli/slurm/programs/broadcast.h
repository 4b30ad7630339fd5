// srun --bcast of a step under our own agents: the program is copied to the job's nodes first, by a
// step that reads it from its standard input.
//
// Include only from .cc files of this part.
#pragma once

#include "base/result.h"
#include "cli/client/step.h"
#include "cli/command.h"

namespace dove::cli {

// Copies the program of `step` to all nodes of the job that the step may take, and has the step run
// the copies. Standard input is as before afterwards. Error: a node has no copy. REQUIRES: the
// option is given.
Result<void> broadcast(const Invocation& invocation, const StepPlace& place, StepWanted& step);

}  // namespace dove::cli
