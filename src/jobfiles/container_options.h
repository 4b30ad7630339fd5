// The options that Slurm's plug-in pyxis gave sbatch and srun, as what they mean for a container.
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/exec.h"

namespace dove::jobfiles {

// Where the options are written: paths in them are relative to `workdir`.
struct ContainerPlace {
  std::string home;
  std::string workdir;
};

// Their names, in the order in which they are to be set where the order of typing is not known: a
// negation behind what it negates.
const std::vector<std::string_view>& container_options();

// The variable that tells agents whose value counts where the image and the submitter both set a
// variable: the image's, but for the names that it lists, separated by commas. Without it the
// submitter's.
constexpr const char kContainerEnv[] = "DOVE_CONTAINER_ENV";

// Changes `container` as `name`, one of them, says. Errors come without a place.
Result<void> set_container(std::string_view name, const std::string& value,
                           const ContainerPlace& place, ContainerSpec& container);

}  // namespace dove::jobfiles
