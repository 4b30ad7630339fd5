#include "core/executors/drains.h"

#include <algorithm>
#include <utility>

#include "core/state/findings.h"

namespace dove::core {
namespace {

// "" : it is open, as far as we are concerned.
std::string why_closed(const Node& node) {
  switch (node.life) {
    case LifeStage::kProduction:
    case LifeStage::kOnboard:
      break;
    case LifeStage::kDraining:
    case LifeStage::kTest:
    case LifeStage::kSuspect:
    case LifeStage::kRepair:
      return node.life_why.empty() ? "under repair" : node.life_why;
  }
  // A finding before a person's drain: it says what is wrong.
  if (const Finding* finding = closing_finding(node)) return finding_text(*finding);
  if (!node.declared.drained) return "";
  return node.declared.drain_reason.empty() ? "drained" : node.declared.drain_reason;
}

}  // namespace

std::vector<WantedDrain> wanted_drains(const State& state, const std::string& executor) {
  std::vector<WantedDrain> drains;
  for (const Node& node : state.nodes) {
    if (node.removed) continue;
    const bool is_its = std::any_of(node.executors.begin(), node.executors.end(),
                                    [&](const NodeExecutor& one) { return one.name == executor; });
    if (!is_its) continue;
    std::string why = why_closed(node);
    if (!why.empty()) drains.push_back({&node, std::move(why)});
  }
  return drains;
}

}  // namespace dove::core
