// The options of our commands that describe what a job asks for: sbatch's, our own names for some
// of them, and --set.
//
// Include only from .cc files of this part.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "jobfiles/jobfile.h"

namespace dove::cli {

// All but --set, which is set_option().
std::vector<OptionSpec> job_option_specs();
OptionSpec set_option();
// Those given, as jobfiles takes them.
std::vector<jobfiles::Option> job_options(const Invocation& invocation);
// --set FIELD=VALUE on the job as the API takes it.
Result<void> set_fields(const Invocation& invocation, jobfiles::ParsedJob& job);

}  // namespace dove::cli
