#include "core/state/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

bool names_device(const Node& node, const Finding& finding) {
  // A device that the node does not have is not closed by itself; then the finding is about the
  // node.
  return finding.device >= 0 &&
         static_cast<std::size_t>(finding.device) <
             (node.inventory == nullptr ? 0 : node.inventory->devices.size());
}

}  // namespace

bool closes_node(const Node& node, const Finding& finding) {
  // One bad device of eight does not take the other seven away.
  return finding.severity >= Severity::kFault && !names_device(node, finding);
}

const Finding* closing_finding(const Node& node) {
  for (const OpenFinding& open : node.findings) {
    if (closes_node(node, open.finding)) return &open.finding;
  }
  return nullptr;
}

bool is_closed(const Node& node) { return closing_finding(node) != nullptr; }

bool is_device_closed(const Node& node, std::size_t device) {
  for (const OpenFinding& open : node.findings) {
    const Finding& finding = open.finding;
    if (finding.severity >= Severity::kFault && finding.device >= 0 &&
        static_cast<std::size_t>(finding.device) == device) {
      return true;
    }
  }
  return false;
}

std::string finding_text(const Finding& finding) {
  const std::string of = finding.device < 0 ? "" : fmt::format(" of device {}", finding.device);
  return fmt::format("{}{}: {}", finding.check, of, finding.evidence);
}

bool is_untrusted(const State& state, const Node& node, JobId id) {
  const Job* job = state.find_job(id);
  if (job == nullptr || job->phase != JobPhase::kActive) return false;
  for (const OpenFinding& open : node.findings) {
    // A fault keeps new work away. Only what is critical ends the work that is there.
    if (open.finding.severity != Severity::kCritical) continue;
    if (closes_node(node, open.finding)) return true;
    for (const PlacementRecord& record : job->attempts.back().placements) {
      if (record.placement->node != node.id || record.stage == PlacementStage::kEnded) continue;
      for (const DeviceGrant& grant : record.placement->devices) {
        if (grant.device == open.finding.device) return true;
      }
    }
  }
  return false;
}

// All that keeps new work from a node, in one place: no pass and no search asks for less.
bool is_available(const Node& node) {
  return !node.removed && node.contact == Contact::kConnected && !node.declared.drained &&
         node.inventory != nullptr && node.life == LifeStage::kProduction && !is_closed(node) &&
         closing_executor(node) == nullptr;
}

bool is_lemon(const State& state, const Node& node) {
  // Old faults are dropped only when a new one comes, so the window is asked again.
  const auto late = std::count_if(node.faults.begin(), node.faults.end(), [&](Instant at) {
    return at + state.settings.lemon_window >= state.now;
  });
  return late >= state.settings.lemon_faults;
}

Span gang_pace(std::vector<NodePace> nodes) {
  std::int64_t ranks = 0;
  for (const NodePace& node : nodes) ranks += node.ranks;
  // The median of two is one of them: nobody could say which of the two is slow.
  if (ranks < 3) return {};
  // The median over ranks, with each node standing for as many as it has: a node with eight slow
  // ranks outweighs one with a single fast one.
  std::sort(nodes.begin(), nodes.end(),
            [](const NodePace& a, const NodePace& b) { return a.typical < b.typical; });
  std::int64_t below = 0;
  for (const NodePace& node : nodes) {
    below += node.ranks;
    if (below * 2 >= ranks) return node.typical;
  }
  return {};
}

bool is_slow(const State& state, Span busy, Span pace) {
  return pace.us > 0 && busy.us * 100 >= pace.us * state.settings.slow_percent;
}

}  // namespace dove::core
