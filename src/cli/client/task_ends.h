// How tasks ended, in the words of Slurm's srun.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dove::cli {

// "Exited with exit code 3", "Segmentation fault"; with the cause in brackets if there is one.
std::string ended_text(std::int64_t exit_code, std::int64_t signal, const std::string& cause);

// "node1: tasks 0,2-3: Killed".
std::string failure_text(const std::string& node, const std::vector<std::int64_t>& ranks,
                         const std::string& how);

}  // namespace dove::cli
