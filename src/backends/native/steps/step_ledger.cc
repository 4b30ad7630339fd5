#include "backends/native/steps/step_ledger.h"

#include <algorithm>
#include <limits>

namespace dove::backends {

void StepLedger::hold(const StepId& step, NodeId node, StepHolding holding) {
  if (!holding.empty()) held_[{step, node}] = std::move(holding);
}

bool StepLedger::release(const StepId& step, NodeId node) { return held_.erase({step, node}) > 0; }

StepHolding StepLedger::free(JobId job, AttemptNumber attempt, const Placement& placement) const {
  StepHolding left{placement.cores, placement.devices, placement.memory_bytes};
  const auto first =
      held_.lower_bound({{job, attempt, std::numeric_limits<std::int32_t>::min()}, NodeId()});
  for (auto at = first; at != held_.end(); ++at) {
    const auto& [step, node] = at->first;
    if (std::get<0>(step) != job || std::get<1>(step) != attempt) break;
    if (node != placement.node) continue;
    left.cores -= at->second.cores;
    left.memory_bytes -= std::min(left.memory_bytes, at->second.memory_bytes);
    std::erase_if(left.devices, [&](const DeviceGrant& device) {
      const auto& its = at->second.devices;
      return std::find(its.begin(), its.end(), device) != its.end();
    });
  }
  return left;
}

}  // namespace dove::backends
