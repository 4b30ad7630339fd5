// Replay of the openb lists through the live scheduler.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/live/live_cluster.h"
#include "sim/live/live_trace.h"

namespace dove::sim {
namespace {

// CPU is counted in cores; a finer unit makes nodes of more of them.
constexpr std::int64_t kCpu_milli = 4;
// A feature of all nodes with GPUs.
constexpr std::string_view kWith_gpus = "gpus";

std::string model_name(std::int32_t model) { return fmt::format("m{}", model); }

std::shared_ptr<const Inventory> inventory_of(const core::NodeClass& node) {
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < node.cpu_milli / kCpu_milli; ++core) {
    inventory->numa[0].cores.insert(core);
  }
  Device device;
  device.model = model_name(node.model);
  inventory->devices.assign(static_cast<std::size_t>(node.devices), device);
  inventory->memory_bytes = node.memory_bytes;
  return inventory;
}

std::shared_ptr<JobSpec> job_of(const core::TaskShape& task) {
  auto spec = std::make_shared<JobSpec>();
  spec->user = "user";
  spec->groups.resize(1);
  Request& request = spec->groups[0].per_task;
  request.cores = static_cast<std::int32_t>((task.cpu_milli + kCpu_milli - 1) / kCpu_milli);
  request.memory_bytes = task.memory_bytes;
  if (task.devices == 0) return spec;
  if (task.is_share()) {
    request.share_milli = task.device_milli;
  } else {
    request.gpus = task.devices;
  }
  if (task.models == core::kAnyModel) return spec;
  for (std::int32_t model = 0; model < core::kModelsMax; ++model) {
    if ((task.models >> model & 1) == 0) continue;
    request.gpu_model += (request.gpu_model.empty() ? "" : "|") + model_name(model);
  }
  if (task.models == 0) request.gpu_model = "none";
  return spec;
}

// `count` tasks, each with an equal part of what the one has asked for. Cores are whole and rounded
// up, so that each task has one; memory and shares are rounded down, so that the parts fit where
// the one did.
void divide(TaskGroup& group, std::int32_t count) {
  Request& each = group.per_task;
  group.tasks = count;
  each.cores = (each.cores + count - 1) / count;
  each.memory_bytes /= count;
  each.gpus /= count;
  each.share_milli /= count;
}

std::shared_ptr<const JobSpec> spec_of(const core::TaskShape& task, OpenbJobs jobs) {
  std::shared_ptr<JobSpec> spec = job_of(task);
  TaskGroup& group = spec->groups[0];
  if (jobs == OpenbJobs::kSplit && !task.is_share() && task.devices > 1) {
    divide(group, task.devices);
  }
  if (jobs == OpenbJobs::kHalves && task.is_share() && task.device_milli > 1) {
    divide(group, 2);
    group.nodes_max = 1;
  }
  if (jobs == OpenbJobs::kFeatures && task.devices > 0) {
    std::string model = std::exchange(group.per_task.gpu_model, "");
    spec->features = {model.empty() ? std::string(kWith_gpus) : std::move(model)};
  }
  return spec;
}

}  // namespace

Result<OpenbResult> replay_live_openb(const OpenbTrace& trace, const LiveScheduler& scheduler,
                                      OpenbJobs jobs) {
  LiveCluster cluster(scheduler.policies, scheduler.settings);
  std::map<core::NodeClass, std::shared_ptr<const Inventory>> inventories;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    auto& inventory = inventories[trace.nodes[i]];
    if (inventory == nullptr) inventory = inventory_of(trace.nodes[i]);
    NodeDeclaration declared;
    declared.name = fmt::format("n{}", i);
    if (!inventory->devices.empty()) {
      declared.features = {std::string(kWith_gpus), inventory->devices.front().model};
    }
    cluster.declare(declared);
    cluster.add_node(declared.name, inventory);
  }
  std::vector<std::shared_ptr<const JobSpec>> specs;
  for (const core::TaskShape& shape : trace.shapes) specs.push_back(spec_of(shape, jobs));
  OpenbTally tally(trace.gpus_milli());
  for (const std::int32_t shape : trace.arrivals) {
    const auto index = static_cast<std::size_t>(shape);
    const JobId id = cluster.submit(specs[index], Span{kNever.us}, Span{});
    TRY(cluster.settle());
    const bool placed = cluster.job(id).starts > 0;
    if (!placed) {
      cluster.cancel(id);
      TRY(cluster.settle());
    }
    tally.arrived(trace.shapes[index].gpus_milli(), placed);
  }
  return tally.result();
}

}  // namespace dove::sim
