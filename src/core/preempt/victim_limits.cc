#include "core/preempt/victim_limits.h"

#include <algorithm>

#include "core/state/books.h"
#include "model/resource_names.h"

namespace dove::core {
namespace {

bool counts_towards(const State& state, const Reason& limit, const JobSpec& spec) {
  if (limit.kind == ReasonKind::kUserLimit) return spec.user == limit.subject;
  if (limit.kind == ReasonKind::kProjectLimit) return spec.project == limit.subject;
  if (limit.kind == ReasonKind::kDomainLimit) return domain_of(state, spec) == limit.subject;
  // A limit of a queue holds for all queues below it.
  bool below = false;
  for_each_queue(state, spec.queue,
                 [&](const std::string& name) { below = below || name == limit.subject; });
  return below;
}

std::int64_t amount_of_limit(const Reason& limit, const Amount& held, const JobSpec& spec) {
  const std::string& resource = limit.resource;
  // A limit on the number of jobs: each victim counts for one, whatever it holds.
  if (resource == "jobs") return 1;
  if (resource == "cores") return held.cores;
  if (resource == "gpus_milli") return held.gpus_milli;
  if (resource == "memory_bytes") return held.memory_bytes;
  if (resource.starts_with(kByModel)) {
    return amount_of(held.gpus_by_model, std::string_view(resource).substr(kByModel.size()));
  }
  return amount_of(held.countables, resource) + amount_of(spec.cluster_requests, resource);
}

}  // namespace

VictimLimits::VictimLimits(const State& state, const Job& beneficiary, const Amount& amount,
                           std::span<const JobId> stopping)
    : state_(state) {
  for (Reason& limit : broken_limits(state, *beneficiary.spec, amount, false)) {
    // Preemption frees no countable of the cluster that somebody outside the queues holds, and
    // gives no hour of a month back.
    could_hold_ = could_hold_ && limit.kind != ReasonKind::kClusterLimit &&
                  limit.resource != "gpu_ms_month" && limit.needs <= limit.limit;
    broken_.push_back({std::move(limit), 0});
    broken_.back().over =
        broken_.back().limit.used + broken_.back().limit.needs - broken_.back().limit.limit;
  }
  // Those who are being stopped count as gone, as in the books.
  for (JobId id : stopping) lose(*state.find_job(id));
}

bool VictimLimits::hold() const {
  return std::all_of(broken_.begin(), broken_.end(),
                     [](const Broken& each) { return each.over <= 0; });
}

std::int64_t VictimLimits::counted(const Reason& limit, const Job& job) const {
  if (!counts_towards(state_, limit, *job.spec)) return 0;
  // What another scheduler runs is no job of the queue.
  if (is_foreign(job.id) && limit.resource == "jobs") return 0;
  Amount held;
  // What it still holds: placements that have ended are in no usage any more.
  for (const PlacementRecord& record : job.attempts.back().placements) {
    if (record.stage != PlacementStage::kEnded) add_amount(state_, record.placement, held);
  }
  return amount_of_limit(limit, held, *job.spec);
}

bool VictimLimits::lose(const Job& job) {
  bool helped = false;
  for (Broken& each : broken_) {
    const std::int64_t amount = counted(each.limit, job);
    // Only while the limit is still broken: who gives back more than is needed does not help.
    helped = helped || (amount > 0 && each.over > 0);
    each.over -= amount;
  }
  return helped;
}

bool VictimLimits::counts(const Job& job) const {
  return std::any_of(broken_.begin(), broken_.end(),
                     [&](const Broken& each) { return counted(each.limit, job) > 0; });
}

void VictimLimits::regain(const Job& job) {
  for (Broken& each : broken_) each.over += counted(each.limit, job);
}

bool keep_limits(const State& state, const Job& beneficiary, std::span<const JobId> stopping,
                 const std::vector<Victim>& victims, Preemption& found) {
  // By what was really found: whole nodes and per-node amounts are more than the spec's least.
  VictimLimits limits(state, beneficiary, amount_of(state, found.placements), stopping);
  if (!limits.could_hold()) return false;
  for (const Victim& victim : found.victims) limits.lose(job_of(state, victim));
  std::vector<Victim> more;
  for (const Victim& victim : victims) {
    if (limits.hold()) break;
    // Only whom the beneficiary outranks. A taking by share was allowed for the places, and says
    // nothing about limits that both are under.
    const bool by_level =
        victim.kind == VictimKind::kPriority || victim.kind == VictimKind::kRotation;
    const bool has = std::any_of(found.victims.begin(), found.victims.end(),
                                 [&](const Victim& other) { return other.job == victim.job; });
    // A foreign job is put back for its devices alone.
    if (!by_level || has || victim.foreign != nullptr) continue;
    const Job& job = *state.find_job(victim.job);
    if (limits.lose(job)) {
      more.push_back(victim);
    } else {
      // To lose it changed the books of other limits, too: that is undone.
      limits.regain(job);
    }
  }
  if (!limits.hold()) return false;
  // A later one that holds more may have made an earlier one unnecessary; the dearest first.
  for (std::size_t i = more.size(); i-- > 0;) {
    const Job& job = *state.find_job(more[i].job);
    limits.regain(job);
    if (limits.hold()) {
      more.erase(more.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      limits.lose(job);
    }
  }
  found.victims.insert(found.victims.end(), more.begin(), more.end());
  return true;
}

}  // namespace dove::core
