// A step of a job on several nodes that a Slurm runs for us. Each node is an allocation of its own
// there, so Slurm's srun is asked for once on each node, and what it starts there is told which
// part of the step it is. Pure.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/slurm/gang/job_in_slurm.h"
#include "cli/slurm/gang/step_files.h"

namespace dove::cli {

struct SrunCall {
  std::vector<std::string> words;  // without the program's own name
  std::string allocation;          // of Slurm's
  std::int64_t cpus = 1;           // that it takes there
  std::int32_t first_rank = 0;
  bool takes_input = true;
  bool has_terminal = false;  // this process's, for the first task
  StepStream output, error;
  std::vector<std::string> copy;  // sbcast's words, of a program that is to be copied first
};

struct GangStep {
  std::vector<SrunCall> calls;  // by node; a single one is a step like any of Slurm's
  std::vector<std::string> environment;
  std::int32_t tasks = 0;
  bool label = false;
  bool kill_on_bad_exit = false;
  bool waits = true;        // until its nodes have room for it
  std::int32_t wait_s = 0;  // from the end of its first task to that of the others; 0: any time
  std::vector<std::string> warnings;
};

// `sizes`: of step_sizes(). Errors: what cannot be given on several nodes, with what to ask for
// instead. REQUIRES: a program is named.
Result<GangStep> gang_step(const Invocation& invocation, const nlohmann::json& sizes,
                           const GangContext& context);

}  // namespace dove::cli
