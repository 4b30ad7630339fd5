// Several sruns of Slurm's, one on each node, run as one step.
//
// Include only from .cc files of this part.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/slurm/gang/gang_step.h"
#include "cli/slurm/gang/step_turn.h"

namespace dove::cli {

// Runs `srun` for each call, and returns when all have ended: the highest exit code. What they
// write is passed on as one step's; standard input goes to all that take it. Signals to this
// process are passed on. The others are ended when one could not begin its tasks, or, if the step
// says so, when a task has failed or some time after the first tasks have ended. `turn` ends as
// soon as the step has all its nodes. Call it on the only thread, once. REQUIRES: this process does
// not ignore SIGCHLD.
Result<int> run_srun_bundle(const std::string& srun, const GangStep& step, StepTurn turn = {});

}  // namespace dove::cli
