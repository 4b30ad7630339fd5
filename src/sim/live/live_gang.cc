#include "sim/live/live_gang.h"

namespace dove::sim {

std::shared_ptr<const Inventory> live_node(std::int64_t gpus) {
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < gpus; ++core) inventory->numa[0].cores.insert(core);
  inventory->devices.resize(static_cast<std::size_t>(gpus));
  inventory->memory_bytes = gpus << 30;
  return inventory;
}

JobSpec live_gang(std::int64_t gpus, std::int64_t gpus_per_node) {
  const auto group_of = [](std::int64_t tasks, std::int64_t gpus_each) {
    TaskGroup group;
    group.tasks = static_cast<std::int32_t>(tasks);
    group.per_task.gpus = static_cast<std::int32_t>(gpus_each);
    if (tasks > 1) group.tasks_per_node = 1;
    return group;
  };
  JobSpec spec;
  const std::int64_t whole = gpus > gpus_per_node ? gpus / gpus_per_node : 0;
  const std::int64_t rest = gpus - whole * gpus_per_node;
  if (whole > 0) spec.groups.push_back(group_of(whole, gpus_per_node));
  if (rest > 0) spec.groups.push_back(group_of(1, rest));
  if (spec.groups.size() > 1) spec.groups.back().name = "rest";
  return spec;
}

}  // namespace dove::sim
