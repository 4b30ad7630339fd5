// srun --bcast of a step on several nodes: Slurm's sbcast copies the program to each of them.
//
// Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/slurm/gang/gang_step.h"

namespace dove::cli {

// Runs the sbcast beside `srun` for each node that the step says it of, all at once, and returns
// when all have ended, which they do with this process. Error: one has failed, and has said why.
// REQUIRES: this process does not ignore SIGCHLD.
Result<void> copy_program(const std::string& srun, const GangStep& step);

}  // namespace dove::cli
