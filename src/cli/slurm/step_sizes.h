// What an srun command line requests of its job: nodes, tasks, cores, GPUs, memory, as the API's
// Step has it (api/openapi.yaml).
//
// Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

// Options that were not given are looked for in Slurm's variables, as its srun does: a job's
// --gpus-per-task holds for its steps. Errors: numbers that contradict each other.
Result<nlohmann::json> step_sizes(const Invocation& invocation);

}  // namespace dove::cli
