#include "core/cycle/kept_room.h"

#include <algorithm>
#include <vector>

#include "core/plan/promise.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

bool was_refused(const Attempt& attempt) { return attempt.stop_reason == StopReason::kPlaceholder; }

using Departure = std::pair<Instant, JobId>;
using Departures = std::vector<Departure>;

bool was_preempted(const Attempt& attempt) { return attempt.stop_reason == StopReason::kPreempted; }

// One look at all of them for all jobs that are refused in this cycle. None that leaves in this
// cycle is of interest: what it leaves is not taken yet.
Departures left_by_preempted(const Cycle& cycle) {
  Departures all;
  for (const JobId id : cycle.indexes.preempted) {
    for (const Attempt& attempt : cycle.state.find_job(id)->attempts) {
      if (was_preempted(attempt) && attempt.ended_at.us != 0) all.push_back({attempt.ended_at, id});
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

const Placement& placement_of(const Placement& placement) { return placement; }
const Placement& placement_of(const PlacementRecord& record) { return *record.placement; }

// Both may be attempts or promises.
template <class Some, class Others>
bool share_places(const Some& some, const Others& others) {
  return std::any_of(some.begin(), some.end(), [&](const auto& one) {
    const Placement& its = placement_of(one);
    return std::any_of(others.begin(), others.end(), [&](const auto& other) {
      const Placement& theirs = placement_of(other);
      return its.node == theirs.node && share_ids(its, theirs);
    });
  });
}

// Whether others were stopped and left a place that the attempt took at once. A job that was
// promised what others leave is launched in the cycle in which the last of them has left.
bool was_made_for(Cycle& cycle, const Attempt& attempt) {
  if (!cycle.left_by_preempted) cycle.left_by_preempted = left_by_preempted(cycle);
  const Departures& all = *cycle.left_by_preempted;
  const Departure since{attempt.allocated_at, JobId{}};
  for (auto at = std::lower_bound(all.begin(), all.end(), since); at != all.end(); ++at) {
    if (at->first != attempt.allocated_at) return false;
    const std::vector<Attempt>& theirs = cycle.state.find_job(at->second)->attempts;
    const bool made_room = std::any_of(theirs.begin(), theirs.end(), [&](const Attempt& left) {
      return was_preempted(left) && left.ended_at == attempt.allocated_at &&
             share_places(left.placements, attempt.placements);
    });
    if (made_room) return true;
  }
  return false;
}

// Whether others were stopped meanwhile for a job that is to have a part of its places.
bool is_cleared_for_another(const State& state, const Attempt& attempt) {
  return std::any_of(state.promises.begin(), state.promises.end(), [&](const auto& entry) {
    return entry.second.cleared && share_places(entry.second.placements, attempt.placements);
  });
}

}  // namespace

std::optional<Promise> keep_room(Cycle& cycle, const Job& job) {
  const State& state = cycle.state;
  if (job.phase != JobPhase::kWaiting || job.held || only_gets_room(state, *job.spec)) return {};
  const Attempt& last = job.attempts.back();
  // What nobody answered is no refusal, and would not be answered the next time either.
  const bool was_answered = state.now - last.allocated_at < state.settings.effect_deadline;
  if (!was_refused(last) || !was_answered) return {};
  auto first = job.attempts.rbegin();
  while (std::next(first) != job.attempts.rend() && was_refused(*std::next(first))) ++first;
  if (first - job.attempts.rbegin() >= kRefusals_waited_for) return {};
  // It may have been tried elsewhere since, where nobody was stopped for it.
  if (!share_places(first->placements, last.placements)) return {};
  if (!was_made_for(cycle, *first) || is_cleared_for_another(state, last)) return {};
  std::vector<Placement> places;
  for (const PlacementRecord& record : last.placements) places.push_back(*record.placement);
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
