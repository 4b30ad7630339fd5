// Arrays as Slurm lists them: elements that wait are one line, "12_[0-3,5%2]". Pure; any thread.
#pragma once

#include <vector>

#include "cli/client/views.h"

namespace dove::cli {

// `jobs` with the waiting elements of each array and state joined in the place of the first, whose
// shown_id names them all. REQUIRES: elements of an array come by index, as the server lists them.
std::vector<JobView> with_arrays_joined(const std::vector<JobView>& jobs);

}  // namespace dove::cli
