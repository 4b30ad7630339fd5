// What the agent's attempts use, for rules about idle sessions.
#include "agent/agent.h"
#include "agent/tasks/task_plan.h"

namespace dove::agent {

UseWatch::Held Agent::used(const HeldAttempt& held) const {
  const LaunchOrder& order = held.order();
  UseWatch::Held use;
  use.key = order.key;
  use.mark = attempt_mark(options_.name, order.key);
  use.cores = static_cast<std::int32_t>(order.placement.cores.size());
  for (const DeviceGrant& grant : order.placement.devices) {
    const auto index = static_cast<std::size_t>(grant.device);
    if (index < inventory_.devices.size()) use.gpus.push_back(inventory_.devices[index].uuid);
  }
  const auto& tasks = order.placement.tasks;
  const bool has_app = !order.exec.app.name.empty() && !tasks.empty() && tasks.front().rank == 0;
  if (!has_app) return use;
  use.app = order.exec.app;
  if (Result<ForwardTarget> way = held.forward_target(0); way.ok()) {
    use.way = std::move(way).value();
  }
  return use;
}

void Agent::watch_use() {
  use_ = std::make_unique<UseWatch>(UseWatch::Host{
      [this] {
        std::vector<UseWatch::Held> all;
        for (const auto& [key, held] : held_) {
          if (held->runs() && !held->stopping()) all.push_back(used(*held));
        }
        return all;
      },
      [this] { return loop_.monotonic_us(); }, [this] { return loop_.wall_us(); },
      [this](const std::string& lane, std::function<void()> work, std::function<void()> done) {
        side_.run(lane, std::move(work), std::move(done));
      },
      [this](protocol::Use said) {
        if (session_.empty()) return;
        reports_.emplace_back(said);
        post_flush(0);
      }});
}

}  // namespace dove::agent
