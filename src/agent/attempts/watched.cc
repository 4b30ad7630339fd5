#include "agent/attempts/watched.h"

#include <utility>

#include "agent/tasks/task_plan.h"

namespace dove::agent {
namespace {

UseWatch::Attempt used(const ActiveAttempt& attempt, const std::string& node,
                       const Inventory& inventory) {
  const LaunchOrder& order = attempt.order();
  UseWatch::Attempt use;
  use.key = order.key;
  use.mark = attempt_mark(node, order.key);
  use.cores = static_cast<std::int32_t>(order.placement.cores.size());
  for (const DeviceGrant& grant : order.placement.devices) {
    const auto index = static_cast<std::size_t>(grant.device);
    // Parts of one device stand side by side.
    const bool is_known = !use.gpus.empty() && use.gpus.back().device == grant.device;
    if (is_known || index >= inventory.devices.size()) continue;
    use.gpus.push_back({grant.device, inventory.devices[index].uuid});
  }
  // The app is asked by one node of its job: that of the first task, where its port is.
  const auto& tasks = order.placement.tasks;
  const bool has_app = !order.exec.app.name.empty() && !tasks.empty() && tasks.front().rank == 0;
  if (!has_app) return use;
  use.app = order.exec.app;
  if (Result<ForwardTarget> way = attempt.forward_target(0); way.ok()) {
    use.way = std::move(way).value();
  }
  return use;
}

}  // namespace

std::vector<ProgressWatch::Attempt> watched_progress(const Attempts& attempts) {
  std::vector<ProgressWatch::Attempt> all;
  for (const ActiveAttempt* attempt : attempts.living()) {
    const LaunchOrder& order = attempt->order();
    const bool contained = !order.exec.container.image.empty();
    std::vector<Rank> ranks;
    for (const TaskGrant& task : order.placement.tasks) ranks.push_back(task.rank);
    all.push_back({order.key, progress_prefix(order),
                   contained ? own_progress_directory(attempt->directory()) : "",
                   std::move(ranks)});
  }
  return all;
}

std::vector<UseWatch::Attempt> watched_use(const Attempts& attempts, const std::string& node,
                                           const Inventory& inventory) {
  std::vector<UseWatch::Attempt> all;
  for (const auto& [key, attempt] : attempts.active()) {
    if (attempt->runs() && !attempt->stopping()) all.push_back(used(*attempt, node, inventory));
  }
  return all;
}

}  // namespace dove::agent
