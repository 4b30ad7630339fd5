// Exits as Slurm writes them: "2:0" (code 2), "0:9" (ended by signal 9). Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client/views.h"

namespace dove::cli {

struct SlurmExit {
  std::int64_t code = 0;
  std::int64_t signal = 0;

  bool bad() const { return code != 0 || signal != 0; }
};

std::string exit_text(const SlurmExit& exit);
// How the job's own tasks ended; 0:0 while it goes on. `accounting`: as sacct has it, where a job
// that was cancelled has no exit of its own.
SlurmExit exit_of_job(const JobView& job, bool accounting);
// How the batch script, or the worst of the tasks, of the job's last attempt ended.
SlurmExit exit_of_tasks(const JobView& job);
// The worst of the job's steps: sacct's DerivedExitCode.
SlurmExit exit_of_steps(const JobView& job);
// "COMPLETED", "FAILED", or "CANCELLED" for what a signal ended: a step that is over.
std::string state_of_exit(const SlurmExit& exit);

}  // namespace dove::cli
