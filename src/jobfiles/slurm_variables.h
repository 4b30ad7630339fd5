// The SLURM_* variables that tell a job what was asked for it, as sbatch 22.05 sets them where the
// job is submitted: those of the options that were given, no others. What the job got in the end
// is told by the agent (agent/tasks/environment.h). Pure, any thread.
#pragma once

#include <map>
#include <string>

#include "jobfiles/draft.h"

namespace dove::jobfiles {

// REQUIRES: finish_sizes() was called.
void add_slurm_variables(const Draft& draft, std::map<std::string, std::string>& environment);

}  // namespace dove::jobfiles
