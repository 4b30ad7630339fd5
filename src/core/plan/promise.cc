#include <algorithm>

#include "core/nodes/care.h"
#include "core/plan/backfill.h"
#include "core/queue/queue_tree.h"
#include "core/state/books.h"

namespace dove::core {

std::set<JobId> promises_behind(const State& state, const Job& job) {
  std::set<JobId> behind;
  if (state.promises.empty()) return behind;
  const std::vector<const Queue*> mine = queue_path(state, job.spec->queue);
  for (const auto& [id, promise] : state.promises) {
    if (promise.cleared) continue;
    const Job& other = *state.find_job(id);
    if (other.spec->queue == job.spec->queue) {
      const bool first = comes_first(job) && !comes_first(other);
      if (first || job.priority > other.priority) behind.insert(id);
      continue;
    }
    const std::vector<const Queue*> theirs = queue_path(state, other.spec->queue);
    auto my_side = mine.rbegin();
    auto their_side = theirs.rbegin();
    while (my_side != mine.rend() && their_side != theirs.rend() && *my_side == *their_side) {
      ++my_side;
      ++their_side;
    }
    if (my_side == mine.rend() || their_side == theirs.rend()) continue;
    if ((*my_side)->band != (*their_side)->band) {
      if ((*my_side)->band > (*their_side)->band) behind.insert(id);
    } else if (is_below_guarantee(state, **my_side) && !is_below_guarantee(state, **their_side)) {
      behind.insert(id);
    }
  }
  return behind;
}

void withdraw_behind(Cycle& cycle, const Job& job, const std::vector<Placement>& places,
                     const std::set<JobId>& ignored) {
  if (ignored.empty()) return;
  State& state = cycle.state;
  const JobSpec& spec = *job.spec;
  const Claim claim{&spec, guest_of(job).restart_nodes, job.id, state.now,
                    stay_of(state, spec).end(state.now)};
  std::set<JobId> hit;
  for (const Placement& placement : places) {
    const NodePlan& plan = plan_of(state, state.derived->plan, placement.node);
    const auto books = free_during(state, plan, state.nodes[placement.node.value - 1], claim);
    if (books && holds_all(*books, placement)) continue;
    for (const Hold& hold : plan.holds) {
      if (hold.promised && ignored.contains(hold.job)) hit.insert(hold.job);
    }
  }
  for (JobId id : hit) cycle.emit(Withdraw{id});
}

bool share_ids(const Placement& a, const Placement& b) {
  const auto same_device = [](const DeviceGrant& x, const DeviceGrant& y) {
    if (x.device != y.device) return false;
    const bool slots_apart =
        x.is_slice() && y.is_slice() && (slots_of(x.slice) & slots_of(y.slice)) == 0;
    return !slots_apart &&
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
    if (promise.start_at > state.now) next = std::min(next, promise.start_at);
  }
  return next;
}

}  // namespace dove::core
