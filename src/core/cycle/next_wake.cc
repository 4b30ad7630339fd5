#include "core/cycle/next_wake.h"

#include <algorithm>
#include <set>

#include "core/cycle/wake.h"
#include "core/nodes/contact.h"
#include "core/nodes/maintenance.h"
#include "core/place/reservation.h"
#include "core/plan/promise.h"
#include "core/state/holders/month_use.h"

namespace dove::core {

Instant wake_at(const State& state) {
  Instant wake = kNever;
  // Ended jobs that somebody still refers to are not forgotten, however old.
  std::set<JobId> pinned;
  std::int64_t ended = 0;
  // From the state alone, by going over all of it: what the indexes say below must be the same or
  // earlier.
  for (const auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kEnded) {
      ++ended;
      continue;
    }
    wake = std::min(wake, wake_of(state, job));
    // As is_forgettable in the indexes: an array is kept as a whole while one element lives.
    if (job.array) pinned.insert(job.array);
    for (const Dependency& one : job.spec->dependencies) {
      if (one.job) pinned.insert(one.job);
    }
  }
  for (const auto& [id, job] : state.jobs) {
    if (job.phase != JobPhase::kEnded || pinned.contains(id) || pinned.contains(job.array))
      continue;
    wake = std::min(wake, job.ended_at + state.settings.ended_jobs_kept);
    // Too many: the purge pass has work at once.
    if (ended > state.settings.ended_jobs_max) wake = state.now;
  }
  for (const Node& node : state.nodes) {
    wake = std::min({wake, lost_at(state, node), maintenance_wake(state, node)});
  }
  // Things that no job or node announces: a promise falls due, a reservation begins or ends, limits
  // by month start anew.
  return std::min({wake, next_promise(state), next_boundary(state), month_end(state)});
}

Instant wake_at(const State& state, const Indexes& indexes) {
  // Each set ascends by instant, so the first says it all.
  Instant wake = std::min({next_promise(state), next_boundary(state), month_end(state)});
  if (!indexes.job_wakes.empty()) wake = std::min(wake, indexes.job_wakes.begin()->first);
  if (!indexes.node_wakes.empty()) wake = std::min(wake, indexes.node_wakes.begin()->first);
  // A few nodes at most; to index what they wait for would cost more than to ask.
  for (const NodeId id : indexes.in_maintenance) {
    wake = std::min(wake, maintenance_wake(state, *state.find_node(id)));
  }
  if (!indexes.forgettable.empty()) {
    const Instant oldest = indexes.forgettable.begin()->first;
    const bool over = indexes.ended_count > state.settings.ended_jobs_max;
    wake = std::min(wake, over ? state.now : oldest + state.settings.ended_jobs_kept);
  }
  return wake;
}

}  // namespace dove::core
