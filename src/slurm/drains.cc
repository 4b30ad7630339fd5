#include "slurm/drains.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "slurm/cluster.h"

namespace dove::slurm {
namespace {

// "dovetail@lab: "
std::string mark_of(const std::string& cluster) { return fmt::format("{}@{}: ", kMark, cluster); }

}  // namespace

bool is_drained_by_us(const NodeSeen& node, const std::string& cluster) {
  return node.state == NodeSeen::State::kDrained && node.reason.starts_with(mark_of(cluster));
}

std::vector<DrainChange> plan_drains(const Observed& observed,
                                     const std::vector<WantedDrain>& wanted,
                                     const std::string& cluster) {
  std::map<std::string_view, const WantedDrain*> by_node;
  for (const WantedDrain& one : wanted) by_node[one.node] = &one;
  std::vector<DrainChange> changes;
  for (const NodeSeen& node : observed.nodes) {
    const bool is_ours = is_drained_by_us(node, cluster);
    const auto at = by_node.find(node.name);
    if (at == by_node.end()) {
      if (is_ours) changes.push_back({node.name, ""});
      continue;
    }
    const std::string reason = mark_of(cluster) + at->second->why;
    const bool is_open = node.state == NodeSeen::State::kUp;
    if (is_open || (is_ours && node.reason != reason)) changes.push_back({node.name, reason});
  }
  return changes;
}

}  // namespace dove::slurm
