#include "slurm/gate/gate_fences.h"

#include <fmt/format.h>

#include <utility>

#include "model/standing_fence.h"
#include "slurm/gate/difference.h"
#include "slurm/gres.h"

namespace dove::slurm {
namespace {

// Its adapter was ended before it could mark it, or somebody has taken the name.
bool is_unmarked_fence(const JobSeen& job, const std::string& cluster) {
  return job.mark.empty() && job.name.starts_with(kFence_name) && job.name.ends_with("@" + cluster);
}

}  // namespace

std::string fence_name(const GateStart& start, const std::string& cluster) {
  return fmt::format("{}{}.{}@{}", kFence_name, start.job, start.attempt, cluster);
}

bool GateFences::is_of(const JobSeen& job, const GateStart& start) const {
  return job.mark == placeholder_mark(fence_name(start, cluster_));
}

std::set<int> GateFences::taken_on(const std::string& node, const GateStart& start) const {
  std::set<int> taken;
  for (const JobSeen& job : observed_.jobs) {
    if (job.phase != JobPhase::kHolding || is_of(job, start)) continue;
    if (const NodeAllocation* held = allocation_on(job, node)) {
      taken.insert(held->devices.begin(), held->devices.end());
    }
  }
  return taken;
}

// The devices that nobody holds and that are not the job's.
std::set<int> GateFences::uncovered(const GateStart& start, const Wanted& wanted,
                                    const NodeSeen& node) {
  std::set<int> free;
  for (int i = 0; i < static_cast<int>(node.device_types.size()); ++i) free.insert(i);
  for (const int device : wanted.devices) free.erase(device);
  for (const int device : taken_on(node.name, start)) free.erase(device);
  for (const JobSeen& job : observed_.jobs) {
    if (!is_of(job, start) || job.phase != JobPhase::kHolding) continue;
    const NodeAllocation* held = allocation_on(job, node.name);
    if (held == nullptr) continue;
    kept_.insert(job.id);
    for (const int device : held->devices) free.erase(device);
  }
  return free;
}

bool GateFences::stand(const JobSeen& job, const GateStart& start, const Wanted& wanted,
                       bool gets_lowest) {
  const NodeSeen& node = *observed_.find_node(wanted.key.node);
  std::set<int> free = uncovered(start, wanted, node);
  if (gets_lowest) free.erase(free.upper_bound(wanted.devices.front()), free.end());
  const int more = free.empty() ? 0 : 1;
  if (!leave_its_cores(job, start, wanted, node, more)) return false;
  if (free.empty()) return true;
  Ask ask;
  ask.name = fence_name(start, cluster_);
  ask.node = node.name;
  ask.reservation = job.gate->reservation;
  ask.partitions = node.partitions;
  ask.cpus = node.cpus_per_core;
  ask.memory_bytes = kFence_memory_bytes;
  ask.limit_minutes = kFence_minutes;
  const Result<std::string> gres =
      pinned_gres(node.device_types, std::vector<int>(free.begin(), free.end()));
  if (gres.ok()) ask.gres = *gres;
  missing_.push_back(std::move(ask));
  return false;
}

// A fence is suspended only where its core is missing: one that is suspended does not end by
// itself. `more`: cores for fences that are missing.
bool GateFences::leave_its_cores(const JobSeen& job, const GateStart& start, const Wanted& wanted,
                                 const NodeSeen& node, int more) {
  int left = node.cores_for_jobs();
  std::vector<std::int64_t> fences;
  for (const JobSeen& one : observed_.jobs) {
    const NodeAllocation* held = allocation_on(one, node.name);
    const bool has_cores = one.phase != JobPhase::kEnded && !one.is_suspended();
    if (held == nullptr || !has_cores) continue;
    left -= static_cast<int>(held->cores.size());
    if (one.phase == JobPhase::kHolding && is_of(one, start)) fences.push_back(one.id);
  }
  // Slurm may need more cores for it than the ledger gave, and then says what it lacks.
  const bool lacks = left < static_cast<int>(wanted.cores.size()) + more ||
                     (!job.gate->is_held && job.gate->reason == "Resources");
  if (fences.empty() || !lacks) return true;
  to_suspend_.insert(to_suspend_.end(), fences.begin(), fences.end());
  return false;
}

std::vector<std::int64_t> GateFences::without_reason() const {
  std::vector<std::int64_t> found;
  for (const JobSeen& job : observed_.jobs) {
    if (!is_fence(job, cluster_) && !is_unmarked_fence(job, cluster_)) continue;
    const bool over = job.phase == JobPhase::kEnding || job.phase == JobPhase::kEnded;
    if (!over && !kept_.contains(job.id)) found.push_back(job.id);
  }
  return found;
}

}  // namespace dove::slurm
