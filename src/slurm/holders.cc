#include "slurm/holders.h"

#include <algorithm>

#include "slurm/fences/standing_fences.h"

namespace dove::slurm {
namespace {

bool shares_devices(const NodeAllocation& held, const std::vector<int>& devices) {
  return std::find_first_of(held.devices.begin(), held.devices.end(), devices.begin(),
                            devices.end()) != held.devices.end();
}

}  // namespace

bool holds(const JobSeen& job) {
  return job.phase == JobPhase::kHolding || job.phase == JobPhase::kEnding;
}

const JobSeen* holder_of(const Observed& observed, const std::string& node,
                         const std::vector<int>& devices, const std::string& cluster) {
  for (const JobSeen& job : observed.jobs) {
    const bool holds = std::any_of(job.allocations.begin(), job.allocations.end(),
                                   [&](const NodeAllocation& held) {
                                     return held.node == node && shares_devices(held, devices);
                                   });
    if (holds && !is_placeholder(job, cluster) && !is_standing_fence(job, cluster)) return &job;
  }
  return nullptr;
}

const JobSeen* fence_on(const Observed& observed, const Wanted& wanted,
                        const std::string& cluster) {
  for (const JobSeen& job : observed.jobs) {
    if (!is_fence(job, cluster)) continue;
    for (const NodeAllocation& held : job.allocations) {
      if (held.node == wanted.key.node && shares_devices(held, wanted.devices)) return &job;
    }
  }
  return nullptr;
}

std::set<std::int64_t> leaving_placeholders(const Observed& observed, const std::string& node,
                                            const std::vector<std::int64_t>& released,
                                            const std::string& cluster) {
  std::set<std::int64_t> leaving;
  for (const JobSeen& job : observed.jobs) {
    if (!holds(job) || !is_placeholder(job, cluster)) continue;
    const bool ends =
        job.phase == JobPhase::kEnding || std::count(released.begin(), released.end(), job.id) > 0;
    const bool is_here = std::any_of(job.allocations.begin(), job.allocations.end(),
                                     [&](const NodeAllocation& held) { return held.node == node; });
    if (ends && is_here) leaving.insert(job.id);
  }
  return leaving;
}

const JobSeen* awaited_end(const Observed& observed, const Wanted& wanted,
                           const std::set<std::int64_t>& awaited, const std::string& cluster) {
  for (const JobSeen& job : observed.jobs) {
    if (!holds(job) || !is_placeholder(job, cluster)) continue;
    if (awaited.contains(job.id)) return &job;
    if (job.phase != JobPhase::kEnding) continue;
    for (const NodeAllocation& held : job.allocations) {
      if (held.node == wanted.key.node && shares_devices(held, wanted.devices)) return &job;
    }
  }
  return nullptr;
}

}  // namespace dove::slurm
