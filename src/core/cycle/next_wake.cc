#include "core/cycle/next_wake.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/cycle/wake.h"
#include "core/nodes/contact.h"
#include "core/nodes/maintenance.h"
#include "core/place/reservation.h"
#include "core/plan/promise.h"
#include "core/state/holders/month_use.h"

namespace dove::core {

namespace {

// What ended and is not forgotten yet, from the state alone.
struct Retained {
  struct Array {
    std::uint64_t elements = 0;
    Instant last_end;
  };

  void add(const Job& job) {
    if (job.phase == JobPhase::kEnded) ++ended;
    if (!job.array) return;
    Array& array = arrays[job.array];
    array.elements = job.spec->array.indices.size();
    if (job.phase == JobPhase::kEnded) array.last_end = std::max(array.last_end, job.ended_at);
    // As is_forgettable in the indexes: an array is kept as a whole while one element lives.
    if (job.phase != JobPhase::kEnded) pinned.insert(job.array);
  }
  // Whatever somebody still refers to is not forgotten, however old.
  void pin(JobId id) {
    pinned.insert(id);
    const auto after = arrays.upper_bound(id);
    if (after == arrays.begin()) return;
    const auto& [first, array] = *std::prev(after);
    if (id.value < first.value + array.elements) pinned.insert(first);
  }
  // From when its time counts; kNever: it is pinned.
  Instant from(const Job& job) const {
    if (pinned.contains(job.array ? job.array : job.id)) return kNever;
    return job.array ? arrays.at(job.array).last_end : job.ended_at;
  }

  std::int64_t ended = 0;
  std::map<JobId, Array> arrays;
  std::set<JobId> pinned;
};

}  // namespace

Instant wake_at(const State& state) {
  Instant wake = kNever;
  Retained retained;
  for (const auto& [id, job] : state.jobs) retained.add(job);
  // From the state alone, by going over all of it: what the indexes say below must be the same or
  // earlier.
  for (const auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kEnded) continue;
    wake = std::min(wake, wake_of(state, job));
    for (const Dependency& one : job.spec->dependencies) {
      if (one.job) retained.pin(one.job);
    }
  }
  for (const auto& [id, job] : state.jobs) {
    if (job.phase != JobPhase::kEnded) continue;
    const Instant from = retained.from(job);
    if (from == kNever) continue;
    wake = std::min(wake, from + state.settings.ended_jobs_kept);
    // Too many: the purge pass has work at once.
    if (retained.ended > state.settings.ended_jobs_max) wake = state.now;
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
    const Instant oldest = indexes.forgettable.begin()->from;
    const bool over = indexes.ended_count > state.settings.ended_jobs_max;
    wake = std::min(wake, over ? state.now : oldest + state.settings.ended_jobs_kept);
  }
  return wake;
}

}  // namespace dove::core
