#include "core/executors/put_backs.h"

#include <map>
#include <set>

#include "core/preempt/foreign_jobs.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

bool puts_back(const State& state, const std::string& executor) {
  const auto declared = state.executors.find(executor);
  return declared != state.executors.end() && !declared->second.preempts.empty() &&
         declared->second.placeholders;
}

}  // namespace

std::vector<WantedPutBack> wanted_put_backs(const State& state, const std::string& executor) {
  std::vector<WantedPutBack> all;
  if (!puts_back(state, executor)) return all;
  for (const auto& [id, promise] : state.promises) {
    if (!promise.cleared) continue;
    for (const ForeignJobPtr& one : put_back_for(state, id)) {
      if (one->executor == executor) all.push_back({one->id, id});
    }
  }
  return all;
}

std::vector<KeptDevices> kept_for_promises(const State& state, const std::string& executor) {
  if (!puts_back(state, executor)) return {};
  std::map<NodeId, std::set<std::int32_t>> kept;
  for (const auto& [id, promise] : state.promises) {
    const Job* job = state.find_job(id);
    if (job == nullptr || !promise.cleared || !takes_from_foreign(state, *job)) continue;
    for (const Placement& placement : promise.placements) {
      if (find_executor(state.nodes[placement.node], executor) == nullptr) continue;
      for (const DeviceGrant& grant : placement.devices) {
        kept[placement.node].insert(grant.device);
      }
    }
  }
  std::vector<KeptDevices> all;
  for (const auto& [node, devices] : kept) {
    all.push_back({&state.nodes[node], {devices.begin(), devices.end()}});
  }
  return all;
}

}  // namespace dove::core
