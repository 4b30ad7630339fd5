#include "core/cycle/kept_room.h"

#include <algorithm>
#include <vector>

#include "core/plan/promise.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

bool was_refused(const Attempt& attempt) { return attempt.stop_reason == StopReason::kPlaceholder; }

// Whether the one was stopped and left a place that the other took at once. A job that was promised
// what others leave is launched in the cycle in which the last of them has left.
bool made_room(const Attempt& left, const Attempt& taken) {
  if (left.stop_reason != StopReason::kPreempted || left.ended_at != taken.allocated_at) {
    return false;
  }
  return std::any_of(left.placements.begin(), left.placements.end(),
                     [&](const PlacementRecord& theirs) {
                       return std::any_of(taken.placements.begin(), taken.placements.end(),
                                          [&](const PlacementRecord& ours) {
                                            return theirs.placement->node == ours.placement->node &&
                                                   share_ids(theirs.placement, ours.placement);
                                          });
                     });
}

bool was_made_for(const State& state, const Indexes& indexes, const Attempt& attempt) {
  return std::any_of(indexes.preempted.begin(), indexes.preempted.end(), [&](JobId id) {
    const std::vector<Attempt>& theirs = state.find_job(id)->attempts;
    // It may have been launched elsewhere since.
    for (auto at = theirs.rbegin(); at != theirs.rend(); ++at) {
      if (made_room(*at, attempt)) return true;
      if (at->ended_at.us != 0 && at->ended_at < attempt.allocated_at) return false;
    }
    return false;
  });
}

bool share_places(const std::vector<Placement>& some, const std::vector<Placement>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Placement& one) {
    return std::any_of(others.begin(), others.end(), [&](const Placement& other) {
      return one.node == other.node && share_ids(one, other);
    });
  });
}

// Whether others were stopped meanwhile for a job that is to have a part of these places.
bool is_cleared_for_another(const State& state, const std::vector<Placement>& places) {
  return std::any_of(state.promises.begin(), state.promises.end(), [&](const auto& entry) {
    return entry.second.cleared && share_places(entry.second.placements, places);
  });
}

}  // namespace

std::optional<Promise> keep_room(const State& state, const Indexes& indexes, const Job& job) {
  if (job.phase != JobPhase::kWaiting || job.held || only_gets_room(state, *job.spec)) return {};
  const Attempt& last = job.attempts.back();
  // What nobody answered is no refusal, and would not be answered the next time either.
  const bool was_answered = state.now - last.allocated_at < state.settings.effect_deadline;
  if (!was_refused(last) || !was_answered) return {};
  auto first = job.attempts.rbegin();
  while (std::next(first) != job.attempts.rend() && was_refused(*std::next(first))) ++first;
  if (first - job.attempts.rbegin() >= kRefusals_waited_for) return {};
  if (!was_made_for(state, indexes, *first)) return {};
  std::vector<Placement> places;
  for (const PlacementRecord& record : last.placements) places.push_back(*record.placement);
  if (is_cleared_for_another(state, places)) return {};
  return Promise{job.id, job.not_before, std::move(places), true};
}

std::vector<JobId> promised_since(const State& state, const Promise& kept) {
  std::vector<JobId> jobs;
  for (const auto& [id, promise] : state.promises) {
    if (id == kept.job || promise.start_at > kept.start_at) continue;
    if (share_places(promise.placements, kept.placements)) jobs.push_back(id);
  }
  return jobs;
}

}  // namespace dove::core
