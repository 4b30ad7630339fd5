// Which nodes of a job a step of several nodes takes, and how many tasks each has. Pure.
//
// Include only from .cc files of this part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "cli/slurm/gang/job_in_slurm.h"

namespace dove::cli {

struct NodeTasks {
  std::size_t node = 0;  // of those of the job
  std::int32_t tasks = 0;
  std::int32_t first_rank = 0;  // ranks fill one node after the other
};

// As Slurm lays out a step: what it does not say is its job's; each node has a task, then the first
// ones are filled. A step that may run on more nodes than it takes gets those with the least load.
// `sizes`: of step_sizes(). Errors: the job does not have what it asks for.
Result<std::vector<NodeTasks>> gang_layout(const nlohmann::json& sizes,
                                           const std::vector<NodeInSlurm>& nodes);

}  // namespace dove::cli
