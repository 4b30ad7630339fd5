#include "core/nodes/maintenance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/state/running/stop_time.h"

namespace dove::core {
namespace {

bool is_in(const Node& node, const TopologyUnit& unit) {
  const auto& units = node.declared.topology;
  return std::find(units.begin(), units.end(), unit) != units.end();
}

// Enough others do not reach it, and all of them are outside the unit.
bool cut_off_from_outside(const State& state, const Node& node, const TopologyUnit& unit) {
  // A unit's uplink that fails cuts its nodes off from all outside, and leaves the links within
  // alone.
  return node.votes.size() >= kVotes &&
         std::none_of(node.votes.begin(), node.votes.end(), [&](const LinkVote& vote) {
           const Node* peer = state.find_node(vote.peer);
           return peer != nullptr && is_in(*peer, unit);
         });
}

}  // namespace

// Kept as a set in the indexes, so that the pass visits these few and not every node.
bool wants_maintenance(const Node& node) {
  return !node.removed &&
         (node.life != LifeStage::kProduction || node.request.action != NodeAction::kNone ||
          !node.findings.empty() || node.votes.size() >= kVotes);
}

Instant stop_due_at(const State& state, const Node& node, const Job& job) {
  const NodeRequest& request = node.request;
  const bool waits = node.life == LifeStage::kDraining && request.action != NodeAction::kNone;
  if (!waits || job.phase != JobPhase::kActive) return kNever;
  if (job.attempts.back().stage == Stage::kStopping) return kNever;
  if (request.now) return state.now;
  return request.by.us == 0 ? kNever : latest_stop(*job.spec, request.by);
}

Instant maintenance_wake(const State& state, const Node& node) {
  if (node.removed) return kNever;
  Instant wake = kNever;
  switch (node.life) {
    case LifeStage::kProduction:
    case LifeStage::kOnboard:
    case LifeStage::kSuspect:
      return kNever;
    case LifeStage::kDraining:
      for (const JobId id : node.jobs) {
        const Job* job = state.find_job(id);
        if (job != nullptr) wake = std::min(wake, stop_due_at(state, node, *job));
      }
      return wake;
    case LifeStage::kRepair:
    case LifeStage::kTest:
      // People replace a node, and have no deadline here.
      if (node.answer != Answer::kAwaited || node.remedy == Remedy::kReplace) return kNever;
      return node.life_since + kMaintenance_deadline;
  }
  return kNever;
}

std::optional<TopologyUnit> blamed_unit(const State& state, const Node& node) {
  for (const TopologyUnit& unit : node.declared.topology) {
    if (!cut_off_from_outside(state, node, unit)) continue;
    const auto alike =
        std::count_if(state.nodes.begin(), state.nodes.end(), [&](const Node& other) {
          return is_in(other, unit) && cut_off_from_outside(state, other, unit);
        });
    // Two nodes of it with the same complaint: one alone is more likely to be the fault itself.
    if (alike >= 2) return unit;
  }
  return std::nullopt;
}

std::optional<std::string> blame(const State& state, const Node& node) {
  if (node.votes.size() < kVotes) return std::nullopt;
  // Its peers may be cut off by a unit of theirs; then they are not witnesses against this node.
  std::size_t witnesses = 0;
  std::string names;
  for (const LinkVote& vote : node.votes) {
    const Node* peer = state.find_node(vote.peer);
    // Each failed link votes against both of its ends. The end with more votes is the likelier
    // culprit, and no witness.
    if (peer == nullptr || peer->votes.size() > node.votes.size()) continue;
    if (blamed_unit(state, *peer)) continue;
    ++witnesses;
    names += (names.empty() ? "" : ", ") + peer->name;
    if (vote.job) names += fmt::format(" (says job {})", vote.job.value);
  }
  if (witnesses < kVotes || blamed_unit(state, node)) return std::nullopt;
  return fmt::format("the network to it failed from {}", names);
}

}  // namespace dove::core
