#include "jobfiles/slurm_variables.h"

#include <string_view>

namespace dove::jobfiles {
namespace {

using Environment = std::map<std::string, std::string>;

struct Variable {
  std::string_view option;
  std::string_view name;
};

// With the option's value as it was written.
constexpr Variable kAsWritten[] = {
    {"cpus-per-gpu", "SLURM_CPUS_PER_GPU"},
    {"cpus-per-task", "SLURM_CPUS_PER_TASK"},
    {"dependency", "SLURM_JOB_DEPENDENCY"},
    {"distribution", "SLURM_DISTRIBUTION"},
    {"export", "SLURM_EXPORT_ENV"},
    {"gpu-bind", "SLURM_GPU_BIND"},
    {"gpu-freq", "SLURM_GPU_FREQ"},
    {"gpus", "SLURM_GPUS"},
    {"gpus-per-node", "SLURM_GPUS_PER_NODE"},
    {"gpus-per-socket", "SLURM_GPUS_PER_SOCKET"},
    {"gpus-per-task", "SLURM_GPUS_PER_TASK"},
    {"ntasks-per-core", "SLURM_NTASKS_PER_CORE"},
    {"ntasks-per-gpu", "SLURM_NTASKS_PER_GPU"},
    {"ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
    {"ntasks-per-socket", "SLURM_NTASKS_PER_SOCKET"},
    {"profile", "SLURM_PROFILE"},
    {"reservation", "SLURM_JOB_RESERVATION"},
    {"tasks-per-node", "SLURM_NTASKS_PER_NODE"},
    {"threads-per-core", "SLURM_THREADS_PER_CORE"},
};

// Whether it still counts: a size at a higher level may have replaced it.
bool counts(const Sizes& sizes, std::string_view option) {
  if (option == "cpus-per-gpu") return sizes.cpus_per_gpu.has_value();
  if (option == "cpus-per-task") return sizes.cpus_per_task.has_value();
  if (option == "gpus") return sizes.gpus.has_value();
  if (option == "gpus-per-node") return sizes.gpus_per_node.has_value();
  if (option == "gpus-per-task") return sizes.gpus_per_task.has_value();
  if (option == "ntasks-per-gpu") return sizes.tasks_per_gpu.has_value();
  if (option.ends_with("tasks-per-node")) return sizes.tasks_per_node.has_value();
  return true;
}

void add_sizes(const Draft& draft, Environment& environment) {
  const Sizes& sizes = draft.sizes;
  if ((sizes.tasks || sizes.tasks_per_node || sizes.tasks_per_gpu) &&
      !draft.submission.spec.groups.empty()) {
    environment["SLURM_NTASKS"] = environment["SLURM_NPROCS"] =
        std::to_string(draft.submission.spec.groups.front().tasks);
  }
  const auto megabytes = [](std::int64_t bytes) { return std::to_string(bytes >> 20); };
  if (sizes.memory_per_cpu) {
    environment["SLURM_MEM_PER_CPU"] = megabytes(sizes.memory_per_cpu->value);
  }
  if (sizes.memory_per_gpu) {
    environment["SLURM_MEM_PER_GPU"] = megabytes(sizes.memory_per_gpu->value);
  }
}

void add_array(const Draft& draft, Environment& environment) {
  const std::vector<std::int32_t>& indices = draft.submission.spec.array.indices;
  if (indices.empty()) return;
  const std::int32_t step = indices.size() < 2 ? 1 : indices[1] - indices[0];
  bool even = true;
  for (std::size_t i = 1; i < indices.size(); ++i) even &= indices[i] - indices[i - 1] == step;
  environment["SLURM_ARRAY_TASK_COUNT"] = std::to_string(indices.size());
  environment["SLURM_ARRAY_TASK_MIN"] = std::to_string(indices.front());
  environment["SLURM_ARRAY_TASK_MAX"] = std::to_string(indices.back());
  environment["SLURM_ARRAY_TASK_STEP"] = std::to_string(even ? step : 1);
}

}  // namespace

void add_slurm_variables(const Draft& draft, Environment& environment) {
  for (const Variable& variable : kAsWritten) {
    const auto given = draft.given.find(variable.option);
    if (given == draft.given.end() || !counts(draft.sizes, variable.option)) continue;
    environment[std::string(variable.name)] = given->second;
  }
  if (draft.given.contains("overcommit")) environment["SLURM_OVERCOMMIT"] = "1";
  if (!draft.context->host.empty()) environment["SLURM_SUBMIT_HOST"] = draft.context->host;
  add_sizes(draft, environment);
  add_array(draft, environment);
}

}  // namespace dove::jobfiles
