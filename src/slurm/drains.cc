#include "slurm/drains.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "slurm/cluster.h"

namespace dove::slurm {
namespace {

constexpr std::int64_t kAgainMin_s = 5;
constexpr std::int64_t kAgainMax_s = 300;

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

std::vector<DrainChange> DrainPace::due(const std::vector<DrainChange>& all, std::int64_t now_s) {
  std::map<std::string_view, const DrainChange*> open;
  for (const DrainChange& one : all) open[one.node] = &one;
  // In effect; not at once, or who takes it back would be answered at every look.
  std::erase_if(last_, [&](const auto& entry) {
    return !open.contains(entry.first) && now_s >= entry.second.again_s;
  });
  std::vector<DrainChange> due;
  for (const DrainChange& one : all) {
    const auto [at, is_first] = last_.try_emplace(one.node);
    Last& last = at->second;
    const bool is_other = is_first || last.reason != one.reason;
    // Further off than the pause: the clock was set back.
    const bool waits = now_s < last.again_s && last.again_s - now_s <= last.pause_s;
    if (!is_other && waits) continue;
    last.reason = one.reason;
    last.pause_s = is_other ? kAgainMin_s : std::min(2 * last.pause_s, kAgainMax_s);
    last.again_s = now_s + last.pause_s;
    due.push_back(one);
  }
  return due;
}

}  // namespace dove::slurm
