#include "core/cycle/void_promise.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/place/candidates.h"
#include "core/place/reservation.h"
#include "core/plan/foreign_holds.h"
#include "core/plan/promise.h"
#include "core/preempt/foreign_jobs.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// The ids that it names are still there, and no executor holds them at its start but for jobs that
// are put back for it.
bool still_exists(const Node& node, const Placement& placement, Instant start,
                  const std::vector<ForeignJobPtr>& put_back) {
  if (node.inventory == nullptr) return false;
  ForeignParts foreign = lasting_foreign(node, start);
  CoreSet cores = usable_cores(node);
  for (const ForeignJobPtr& one : put_back) {
    for (const PlacementRecord& record : one->job.attempts.back().placements) {
      if (record.placement->node != node.id) continue;
      foreign.cores -= record.placement->cores;
      for (const DeviceGrant& grant : record.placement->devices) {
        foreign.devices.erase(grant.device);
      }
    }
  }
  cores -= foreign.cores;
  if (!cores.contains(placement.cores)) return false;
  return std::all_of(
      placement.devices.begin(), placement.devices.end(), [&](const DeviceGrant& grant) {
        const auto device = static_cast<std::size_t>(grant.device);
        return device < node.inventory->devices.size() && !foreign.devices.contains(grant.device);
      });
}

bool is_gone(const Node& node) {
  return node.removed || node.contact == Contact::kLost || node.declared.drained;
}

// Whether an earlier promise needs the place (kPreempt makes such), or it is kept for others later.
bool is_overruled(const State& state, const NodePlan& plan, JobId id, const Placement& placement,
                  Instant start, Instant end) {
  return std::any_of(plan.holds.begin(), plan.holds.end(), [&](const Hold& hold) {
    // Among promises the earlier one stands, and of equals the older job's. That is an order, so
    // two promises never withdraw one another.
    if (hold.promised && hold.foreign) {
      return hold.from < end && hold.to > start && share_ids(*hold.placement, placement);
    }
    if (!hold.promised || std::pair(hold.from, hold.job) >= std::pair(start, id)) return false;
    const Instant to = stay_of(state, *state.find_job(hold.job)->spec).end(hold.from);
    return to > start && share_ids(*hold.placement, placement);
  });
}

// A refused job keeps the room that was made for it until it is tried again (kept_room.h).
bool is_paused(const State& state, const Job& job, const PromiseRecord& promise) {
  const bool waits = job.phase == JobPhase::kWaiting && !job.held && !job.cancel_requested;
  return waits && state.now < job.not_before && job.not_before <= promise.start_at;
}

}  // namespace

bool is_void(Cycle& cycle, JobId id, const PromiseRecord& promise) {
  const State& state = cycle.state;
  Indexes& indexes = cycle.indexes;
  const auto entry = indexes.jobs.find(id);
  if (entry == indexes.jobs.end()) return true;
  const Job& job = *state.find_job(id);
  // It was started, cancelled or held: it waits for no place now.
  if (entry->second.equivalence_class == 0 && !is_paused(state, job, promise)) return true;
  const JobSpec& spec = *job.spec;
  const PoolIndex* pool = pool_index_of(state, indexes, spec);
  if (pool == nullptr) return true;
  const Instant start = std::max(promise.start_at, state.now);
  const Instant end = stay_of(state, spec).end(start);
  const std::vector<ForeignJobPtr> put_back = put_back_for(state, id);
  return std::any_of(
      promise.placements.begin(), promise.placements.end(), [&](const Placement& placement) {
        const Node& node = state.nodes[placement.node];
        const auto& pools = indexes.nodes[placement.node].pools;
        const NodePlan& plan = plan_of(state, indexes.plan, placement.node);
        return is_gone(node) || is_overruled(state, plan, id, placement, promise.start_at, end) ||
               !still_exists(node, placement, promise.start_at, put_back) ||
               !may_allow(spec, node) ||
               std::find(pools.begin(), pools.end(), pool) == pools.end() ||
               !is_open(state, guest_of(job), plan.windows, start, end);
      });
}

}  // namespace dove::core
