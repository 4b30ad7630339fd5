// srun inside a job that a Slurm runs for us: Slurm's own srun starts the step, and what it starts
// knows the job by our number, as its submitter does.
//
// Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/slurm/gang/job_in_slurm.h"

namespace dove::cli {

// Whether this process is in a job that a Slurm runs.
bool is_in_slurm();

// The arguments for Slurm's srun. Error: another job's --jobid. REQUIRES: a program is named.
Result<std::vector<std::string>> slurms_srun_words(const Invocation& invocation,
                                                   const JobInSlurm& job);

// Becomes Slurm's srun, and returns in case of an error alone; where the step has several nodes,
// runs one on each, and gives the highest exit code. REQUIRES: is_in_slurm(), and a program is
// named or --mpi=list given.
Result<int> run_slurms_srun(const Invocation& invocation);

}  // namespace dove::cli
