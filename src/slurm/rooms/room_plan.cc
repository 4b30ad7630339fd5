#include "slurm/rooms/room_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dove::slurm {
namespace {

using JobsByName = std::map<std::string, const JobSeen*>;

bool holds_one_of(const JobSeen& job, const Wanted& wanted) {
  return std::any_of(
      job.allocations.begin(), job.allocations.end(), [&](const NodeAllocation& held) {
        return held.node == wanted.key.node &&
               std::find_first_of(held.devices.begin(), held.devices.end(), wanted.devices.begin(),
                                  wanted.devices.end()) != held.devices.end();
      });
}

// Whom Slurm gave a device of the room; null: nobody, as far as is seen. What holds it for ours is
// on its way to be released.
const JobSeen* other_in(const Observed& observed, const Wanted& wanted,
                        const std::string& cluster) {
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kHolding || !holds_one_of(job, wanted)) continue;
    const bool is_ours = is_placeholder(job, cluster) || is_standing_fence(job, cluster);
    if (!is_ours) return &job;
  }
  return nullptr;
}

PlaceholderReport report_of(const Observed& observed, const JobsByName& jobs, const Wanted& wanted,
                            const std::string& cluster) {
  PlaceholderReport report;
  report.key = wanted.key;
  report.state = PlaceholderState::kRefused;
  const auto found = jobs.find(wanted.foreign_job);
  if (found == jobs.end() || found->second->phase == JobPhase::kEnded) {
    report.why = fmt::format("Slurm job {} does not wait any more", wanted.foreign_job);
    return report;
  }
  if (found->second->phase != JobPhase::kWaiting) {
    report.why = fmt::format("Slurm has started its job {}", wanted.foreign_job);
    return report;
  }
  if (const JobSeen* other = other_in(observed, wanted, cluster)) {
    report.why = fmt::format("Slurm gave what was made free on {} to its job {} of {}",
                             wanted.key.node, other->id, other->user);
    return report;
  }
  report.state = PlaceholderState::kAsked;
  report.why = fmt::format("Slurm is to start its job {} there by itself", wanted.foreign_job);
  return report;
}

}  // namespace

RoomPlan plan_rooms(const Observed& observed, const std::vector<Wanted>& wanted,
                    const std::vector<WantedWork>& works, const std::string& cluster) {
  RoomPlan plan;
  JobsByName jobs;
  for (const JobSeen& job : observed.jobs) jobs[std::to_string(job.id)] = &job;
  for (const Wanted& one : wanted) {
    if (one.foreign_job.empty()) continue;
    plan.reports.push_back(report_of(observed, jobs, one, cluster));
  }
  for (const WantedWork& work : works) {
    if (!work.foreign_job.empty() && work.stop) plan.works.push_back({work.key, true, {}, ""});
  }
  return plan;
}

}  // namespace dove::slurm
