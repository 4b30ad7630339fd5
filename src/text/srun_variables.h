// Which variables of a job reach its tasks where srun starts them. Pure.
#pragma once

#include <string_view>

#include "text/loader_variables.h"

namespace dove::text {

// srun takes most SLURM_ variables for options, and sets those of the step itself.
inline bool is_sruns_own(std::string_view name) {
  return name.starts_with("SLURM_") && !name.starts_with("SLURM_ARRAY_") &&
         !name.starts_with("SLURM_SUBMIT_");
}

// Whether it would change how srun itself runs.
inline bool steers_srun(std::string_view name) {
  return name.starts_with("SRUN_") || name.starts_with("SALLOC_");
}

inline bool passes_srun(std::string_view name) {
  return !is_sruns_own(name) && !steers_srun(name) && !is_loader_variable(name);
}

}  // namespace dove::text
