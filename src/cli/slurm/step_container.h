// The container of a step, by the options that Slurm's plug-in pyxis adds to srun.
//
// Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

// As the API's Step has it; null where no image is named. Errors: an option without an image, or
// what cannot be had.
Result<nlohmann::json> step_container(const Invocation& invocation);

}  // namespace dove::cli
