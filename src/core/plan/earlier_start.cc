#include "core/plan/earlier_start.h"

#include "core/place/reservation.h"
#include "core/plan/lent_plan.h"

namespace dove::core {
namespace {

// The first instant from `from` on, before the promised one, at which the placement is free; the
// promised one if there is none.
Instant earlier_on(const State& state, Plan& all, const Job& job, const Placement& placement,
                   Instant from, Instant promised) {
  const JobSpec& spec = *job.spec;
  const NodePlan& plan = plan_of(state, all, placement.node);
  const Node& node = state.nodes[placement.node];
  const Stay stay = stay_of(state, spec);
  for (Instant at = from; at < promised;) {
    const Claim claim{&spec, guest_of(job).restart_nodes, job.id, at, stay.end(at)};
    if (fits_during(state, plan, node, claim, placement)) return at;
    at = next_change(plan, at);
  }
  return promised;
}

}  // namespace

std::optional<Instant> earlier_start(const State& state, Plan& all, JobId id,
                                     const PromiseRecord& promise, PlannedPromise& entry) {
  if (entry.blocker) return std::nullopt;
  const Job& job = *state.find_job(id);
  Instant at = state.now;
  if (const Reservation* reservation = reservation_of(state, *job.spec)) {
    at = std::max(at, reservation->starts_at);
  }
  const Instant first = at;
  // A gang starts when the last of its places is free, and a place that was free may not be then.
  // So the round is repeated until none moves the instant; it only ever moves on, and ends at the
  // promised one.
  for (bool moved = true; moved;) {
    moved = false;
    for (const Placement& placement : promise.placements) {
      const Instant free_at = earlier_on(state, all, job, placement, at, promise.start_at);
      if (free_at >= promise.start_at) {
        // In the way whatever the others do.
        if (at == first) entry.blocker = placement.node;
        return std::nullopt;
      }
      moved = moved || (free_at > at && &placement != &promise.placements.front());
      at = free_at;
    }
  }
  return at;
}

}  // namespace dove::core
