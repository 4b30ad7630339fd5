#include "core/preempt/running_jobs.h"

#include <algorithm>

#include "core/collections/sorted.h"
#include "core/preempt/victims.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

bool is_running(const Job* job) {
  if (job == nullptr || job->phase != JobPhase::kActive) return false;
  const auto& placements = job->attempts.back().placements;
  return std::any_of(placements.begin(), placements.end(), [](const PlacementRecord& record) {
    return record.stage != PlacementStage::kEnded;
  });
}

bool is_stopping(const Job& job) { return job.attempts.back().stage == Stage::kStopping; }

}  // namespace

void RunningJobs::update(const State& state, std::span<const JobId> touched) {
  if (touched.empty()) return;
  renew_sorted(all, touched, [&](JobId id) { return is_running(state.find_job(id)); });
  renew_sorted(stopping, touched, [&](JobId id) {
    const Job* job = state.find_job(id);
    return is_running(job) && is_stopping(*job);
  });
  renew_sorted(preemptible, touched, [&](JobId id) {
    const Job* job = state.find_job(id);
    return is_running(job) && !is_stopping(*job) && is_preemptible(*job->spec);
  });
}

RunningJobs running_jobs(const State& state) {
  RunningJobs found;
  const std::vector<JobId> all = jobs_on_nodes(state);
  found.update(state, all);
  return found;
}

}  // namespace dove::core
