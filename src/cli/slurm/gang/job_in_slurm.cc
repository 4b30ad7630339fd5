#include "cli/slurm/gang/job_in_slurm.h"

#include <fmt/format.h>

#include "cli/client/endpoint.h"
#include "text/hostlist.h"
#include "text/output_pattern.h"
#include "text/run_lengths.h"
#include "text/words.h"

namespace dove::cli {

JobInSlurm this_job_in_slurm() {
  JobInSlurm job;
  job.id = environment_value("DOVE_JOB_ID");
  job.index = environment_value("SLURM_ARRAY_TASK_ID");
  job.array = job.index.empty() ? job.id : environment_value("SLURM_ARRAY_JOB_ID");
  job.slurms_id = environment_value("DOVE_SLURM_JOB_ID");
  if (job.slurms_id.empty()) job.slurms_id = environment_value("SLURM_JOB_ID");
  job.run = environment_value("DOVE_STEPS_OF");
  if (job.run.empty()) job.run = job.slurms_id;  // an adapter of a former version started it
  return job;
}

Result<std::vector<NodeInSlurm>> nodes_in_slurm() {
  std::vector<NodeInSlurm> nodes;
  const auto ids = text::split(environment_value("DOVE_SLURM_ALLOCATIONS"), ",");
  if (ids.size() < 2) return nodes;
  const auto names = text::expand_hostlist(environment_value("DOVE_NODELIST"));
  const auto addresses = text::split(environment_value("DOVE_NODE_ADDRESSES"), ",");
  const auto tasks = text::expand_counts(environment_value("DOVE_TASKS_PER_NODE"));
  const auto cpus = text::expand_counts(environment_value("DOVE_CPUS_PER_NODE"));
  for (const std::size_t count : {names.size(), addresses.size(), tasks.size(), cpus.size()}) {
    if (count == ids.size()) continue;
    return Error{ErrorKind::kInvalid, "nodes_disagree",
                 fmt::format("DOVE_SLURM_ALLOCATIONS names {} nodes, and DOVE_NODELIST, "
                             "DOVE_NODE_ADDRESSES, DOVE_TASKS_PER_NODE or DOVE_CPUS_PER_NODE names "
                             "{}: leave them as the job has them",
                             ids.size(), count),
                 ""};
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    nodes.push_back({names[i], addresses[i], ids[i], tasks[i], cpus[i], 0});
  }
  return nodes;
}

std::string with_our_numbers(const std::string& pattern, const JobInSlurm& job, std::int64_t step) {
  const std::string number = step < 0 ? "" : std::to_string(step);
  std::string doubled;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_sign = pattern.compare(i, 2, "%%") == 0;
    doubled += is_sign ? "%%%%" : pattern.substr(i, 1);
    if (is_sign) ++i;
  }
  return text::fill_pattern(doubled, [&](char letter) -> std::string {
    switch (letter) {
      case 'j':
        return job.id;
      case 'J':
        return job.id + "." + (number.empty() ? "%s" : number);
      case 's':
        return number;
      case 'A':
        return job.array;
      case 'a':
        return job.index;
      default:
        return "";
    }
  });
}

}  // namespace dove::cli
