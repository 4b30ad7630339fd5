// The file a task writes to: the patterns of sbatch(1) filled in, and made absolute.
#pragma once

#include <string>

#include "agent/attempts/order.h"

namespace dove::agent {

// %A array's first job id, %a array index, %j job id, %J job.step, %N node, %n node's rank, %s
// step, %t rank, %u user, %x job name, %% itself; a number between (%4t) pads with zeros. `step` <
// 0: the batch script. An empty pattern gives an empty path.
std::string output_path(const std::string& pattern, const LaunchOrder& order,
                        const std::string& node, const std::string& workdir, Rank rank,
                        std::int32_t step);

}  // namespace dove::agent
