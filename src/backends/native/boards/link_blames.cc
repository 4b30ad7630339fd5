#include "backends/native/boards/link_blames.h"

#include <algorithm>

#include "backends/native/sync_plan.h"

namespace dove::backends {
namespace {

bool has_rank(const core::PlacementRecord& record, Rank rank) {
  const auto& tasks = record.placement->tasks;
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const TaskGrant& task) { return task.rank == rank; });
}

// The node where the rank runs; none: it runs nowhere.
NodeId node_of(const core::Attempt& attempt, Rank rank) {
  for (const core::PlacementRecord& record : attempt.placements) {
    if (has_rank(record, rank)) return record.placement->node;
  }
  return {};
}

}  // namespace

std::vector<Event> LinkBlames::take(const core::State& state, NodeId node,
                                    const protocol::Progress& said) {
  const bool blames = std::any_of(said.ranks.begin(), said.ranks.end(),
                                  [](const auto& rank) { return !rank.blamed.empty(); });
  if (!blames || !state.settings.job_link_votes) return {};
  const auto [id, number] = said.key;
  const core::Job* job = state.find_job(id);
  const core::PlacementRecord* here = find_placement(state, id, number, node);
  if (job == nullptr || here == nullptr || job->phase != JobPhase::kActive ||
      job->attempts.back().number != number) {
    return {};
  }
  Told& told = jobs_[id];
  if (told.attempt != number) told = Told{number, {}};
  std::vector<Event> events;
  for (const protocol::RankProgress& rank : said.ranks) {
    if (!rank.blamed.empty() && !has_rank(*here, rank.rank)) continue;
    for (const Rank other : rank.blamed) {
      const NodeId peer = node_of(job->attempts.back(), other);
      if (!peer || peer == node || told.links.size() >= kBlames_max) continue;
      if (!told.links.emplace(node, peer).second) continue;
      events.push_back(LinkBlamed{id, number, node, peer, rank.rank, other});
    }
  }
  return events;
}

void LinkBlames::decided(const Decision& decision) {
  const auto* requeue = std::get_if<Requeue>(&decision);
  const auto* end = std::get_if<EndJob>(&decision);
  if (requeue == nullptr && end == nullptr) return;
  jobs_.erase(requeue != nullptr ? requeue->job : end->job);
}

}  // namespace dove::backends
