// srun inside a job that a Slurm runs for us: Slurm's own srun starts the step, and what it starts
// knows the job by our number, as its submitter does.
//
// Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

// Two jobs of the same work: ours, and the allocation of Slurm's in which it runs.
struct JobInSlurm {
  std::string id;         // ours
  std::string array;      // of the array that it is in; else `id`
  std::string index;      // in the array; else "" (Slurm says a number that means none)
  std::string slurms_id;  // the allocation's
};

// Whether this process is in a job that a Slurm runs.
bool is_in_slurm();

// The arguments for Slurm's srun. Error: another job's --jobid. REQUIRES: a program is named.
Result<std::vector<std::string>> slurms_srun_words(const Invocation& invocation,
                                                   const JobInSlurm& job);

// Becomes Slurm's srun: returns in case of an error alone, which says that PATH has none.
// REQUIRES: is_in_slurm().
Result<int> run_slurms_srun(const Invocation& invocation);

}  // namespace dove::cli
