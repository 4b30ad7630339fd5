#include "core/plan/promise.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/place/reservation.h"
#include "core/queue/queue_order.h"
#include "core/queue/queue_tree.h"
#include "core/state/books.h"
#include "core/state/slices.h"

namespace dove::core {

bool comes_before(const State& state, const Job& job, const Job& other) {
  if (other.spec->queue == job.spec->queue) {
    // The head of the queue comes before higher priorities (core/queue/queue_order.h).
    if (comes_first(job) != comes_first(other)) return comes_first(job);
    return job.priority > other.priority;
  }
  // Down from the root to where the two paths part: only siblings compare, and above that both are
  // in the same queue.
  const std::vector<const Queue*> mine = queue_path(state, job.spec->queue);
  const std::vector<const Queue*> theirs = queue_path(state, other.spec->queue);
  auto my_side = mine.rbegin();
  auto their_side = theirs.rbegin();
  while (my_side != mine.rend() && their_side != theirs.rend() && *my_side == *their_side) {
    ++my_side;
    ++their_side;
  }
  // One queue is above the other, so neither outranks the other as a queue.
  if (my_side == mine.rend() || their_side == theirs.rend()) return false;
  // Shares are left out: they change with each launch, and a promise that gave way to them would be
  // worth little.
  if ((*my_side)->band != (*their_side)->band) return (*my_side)->band > (*their_side)->band;
  return is_below_guarantee(state, **my_side) && !is_below_guarantee(state, **their_side);
}

std::set<JobId> promises_behind(const State& state, const Job& job) {
  std::set<JobId> behind;
  for (const auto& [id, promise] : state.promises) {
    // Others were stopped for it; were it to give way, they would have been stopped for nothing.
    if (promise.cleared) continue;
    if (comes_before(state, job, *state.find_job(id))) behind.insert(id);
  }
  return behind;
}

bool share_ids(const Placement& a, const Placement& b) {
  const auto same_device = [](const DeviceGrant& x, const DeviceGrant& y) {
    if (x.device != y.device) return false;
    // Two slices of a device share nothing as long as their memory slots are apart.
    const bool slots_apart =
        x.is_slice() && y.is_slice() && (slots_of(x.slice) & slots_of(y.slice)) == 0;
    return !slots_apart &&
           // A device that is sliced is shared with nobody, however much of it is free.
           (x.is_slice() || y.is_slice() || x.share_milli + y.share_milli > kWholeDevice_milli);
  };
  for (const DeviceGrant& one : a.devices) {
    for (const DeviceGrant& other : b.devices) {
      if (same_device(one, other)) return true;
    }
  }
  return a.cores.size_with(b.cores) > 0;
}

Instant next_promise(const State& state) {
  Instant next = kNever;
  for (const auto& [id, promise] : state.promises) {
    // Those that are due were looked at in this cycle. Another look at the same instant would find
    // the same.
    if (promise.start_at > state.now) next = std::min(next, promise.start_at);
  }
  return next;
}

std::optional<std::string> find_broken_promise(const State& state) {
  for (const auto& [id, promise] : state.promises) {
    for (const Placement& placement : promise.placements) {
      for (JobId other : state.nodes[placement.node].jobs) {
        const Job& job = *state.find_job(other);
        const Attempt& attempt = job.attempts.back();
        // What ran before was counted in when the promise was made; it may be late, which breaks no
        // promise.
        if (attempt.allocated_at <= promise.made_at) continue;
        if (stay_of(state, *job.spec).end(attempt.allocated_at) <= promise.start_at) continue;
        const bool hits = std::any_of(attempt.placements.begin(), attempt.placements.end(),
                                      [&](const PlacementRecord& record) {
                                        return record.placement->node == placement.node &&
                                               record.stage != PlacementStage::kEnded &&
                                               share_ids(record.placement, placement);
                                      });
        if (hits) {
          return fmt::format("job {} holds what was promised to job {} before it was started",
                             other.value, id.value);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace dove::core
