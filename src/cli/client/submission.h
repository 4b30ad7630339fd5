// From a file, a directory, stdin or a command to a submitted job: the common part of submit,
// sbatch, tcloud and srun.
//
// Include only from .cc files of this part.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/api.h"
#include "jobfiles/jobfile.h"

namespace dove::cli {

// The job file that `path` names: itself, or the one in a directory (tuxiv.conf, tuxiv.config,
// job.yaml, job.yml, job.json, job.sh, in this order); "-" is stdin. Errors say what was looked
// for.
Result<jobfiles::Source> read_source(const std::string& path);

// The submitter's surroundings: user, home, working directory, time, environment.
jobfiles::Context local_context();
// Those of a job whose file lies at `path`: a directory's jobs run in that directory.
jobfiles::Context context_for(const std::string& path, const jobfiles::Source& source);

// Every value of an option that sbatch knows, as jobfiles takes it.
std::vector<jobfiles::Option> sbatch_options_of(const Invocation& invocation);
// The table of sbatch's options for a command of ours; letters in `taken` are left out.
std::vector<OptionSpec> sbatch_option_specs(const std::string& taken);

// The id of an array's element, asked of the server: for dependencies on "12_3".
Result<JobId> find_element(const Invocation& invocation, JobId array, std::int32_t index);

// Warnings to stderr, each "file:line:column: warning: ...".
void print_warnings(const std::vector<jobfiles::Warning>& warnings);

struct Submitted {
  std::string id;
  std::vector<std::string> ids;  // of an array: its elements
};
// POSTs the job with an idempotency key, again when the connection broke; the server's own warnings
// go to stderr.
Result<Submitted> submit(Api& api, const jobfiles::ParsedJob& job);
// The same for scripts that are Slurm's, which passes over a priority that the user may not give:
// the job goes without it, with a warning.
Result<Submitted> submit_as_slurm(Api& api, jobfiles::ParsedJob job);

}  // namespace dove::cli
