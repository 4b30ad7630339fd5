#include "core/preempt/stoppable.h"

#include <algorithm>
#include <tuple>

#include "core/preempt/victims.h"

namespace dove::core {
namespace {

// What ends by itself, or on somebody's order, frees its places without a victim.
bool may_be_stopped(const Job& job) {
  if (job.phase != JobPhase::kActive || job.attempts.back().stage >= Stage::kStopping) return false;
  return !job.cancel_requested && !job.requeue_requested && is_preemptible(*job.spec);
}

}  // namespace

std::int64_t weight_of(const Attempt& attempt) {
  std::int64_t weight = 0;
  for (const PlacementRecord& record : attempt.placements) {
    if (record.stage == PlacementStage::kEnded) continue;
    weight += static_cast<std::int64_t>(record.placement->cores.size());
    // A whole GPU weighs as much as a thousand cores, as in Victim::lost.
    for (const DeviceGrant& grant : record.placement->devices) weight += grant.share_milli;
  }
  return weight;
}

Stoppable::Stoppable(const State& state, std::span<const JobId> running,
                     std::span<const JobId> stopping)
    : state_(state),
      stopping_(stopping.begin(), stopping.end()),
      books_(queue_books(state, stopping)) {
  std::map<std::tuple<std::string, std::int64_t, bool, bool, bool>, Kin> found;
  for (const JobId id : running) {
    const Job* job = state.find_job(id);
    if (job == nullptr || !may_be_stopped(*job)) continue;
    jobs_.push_back(id);
    const Attempt& attempt = job->attempts.back();
    Kin one{id,
            books_->level(*job),
            job->spec->slice_min.us > 0,
            slice_end(*job) > state.now,
            pause_end(*job) > state.now,
            weight_of(attempt),
            {}};
    Kin& kin = found
                   .try_emplace({job->spec->queue, one.level.priority, one.has_slice, one.in_slice,
                                 one.pauses},
                                one)
                   .first->second;
    kin.weight_min = std::min(kin.weight_min, one.weight_min);
    for (const PlacementRecord& record : attempt.placements) {
      if (record.stage != PlacementStage::kEnded) kin.nodes.push_back(record.placement->node);
    }
  }
  for (auto& [key, kin] : found) {
    std::sort(kin.nodes.begin(), kin.nodes.end());
    kin.nodes.erase(std::unique(kin.nodes.begin(), kin.nodes.end()), kin.nodes.end());
    kin_.push_back(std::move(kin));
  }
}

const ById<NodeId, bool>& Stoppable::among(const RankedNodes& nodes) {
  const auto [at, is_new] = among_.try_emplace(&nodes);
  if (!is_new) return at->second;
  at->second = ById<NodeId, bool>(state_.nodes.size(), false);
  for (const NodeEntry& entry : nodes) at->second[entry.node] = true;
  return at->second;
}

}  // namespace dove::core
