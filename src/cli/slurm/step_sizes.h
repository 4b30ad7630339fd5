// What an srun command line requests of its job: nodes, tasks, cores, GPUs, memory, as the API's
// Step has it (api/openapi.yaml).
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

// Options that were not given are looked for in Slurm's variables, as its srun does: a job's
// --gpus-per-task holds for its steps. Errors: numbers that contradict each other.
Result<nlohmann::json> step_sizes(const Invocation& invocation);

// The value of that option, which is no less than 0; of "--nodes=2-4" the least. Error: no number.
Result<std::int64_t> count_of(const std::string& option, const std::string& given);

// How many tasks a step of these sizes has where the job's own count says it, in a script of the
// job; 0: it does not.
std::int64_t tasks_of_job(const nlohmann::json& sizes);

}  // namespace dove::cli
