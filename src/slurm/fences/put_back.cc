#include "slurm/fences/put_back.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::slurm {
namespace {

constexpr const char kWords[] = "put back by dovetail";

const JobSeen* find_job(const Observed& observed, std::int64_t id) {
  const auto at = std::find_if(observed.jobs.begin(), observed.jobs.end(),
                               [id](const JobSeen& job) { return job.id == id; });
  return at == observed.jobs.end() ? nullptr : &*at;
}

// Whether a fence waits for each kept device that the job has, and it has one.
bool is_awaited(const JobSeen& job, const DevicesOfNodes& kept,
                const std::set<std::string>& waiting, const std::string& cluster) {
  bool has_kept = false;
  for (const HeldOnNode& held : job.held) {
    const auto here = kept.find(held.node);
    if (here == kept.end()) continue;
    for (const int device : held.devices) {
      if (!here->second.contains(device)) continue;
      if (!waiting.contains(standing_fence_name(held.node, device, cluster))) return false;
      has_kept = true;
    }
  }
  return has_kept;
}

}  // namespace

std::string put_back_words(std::int64_t job) {
  return fmt::format("{} for its job {} of higher priority", kWords, job);
}

std::set<std::int64_t> leaving_jobs(const Observed& observed, const std::vector<PutBack>& wanted) {
  std::set<std::int64_t> leaving;
  for (const PutBack& one : wanted) {
    const JobSeen* job = find_job(observed, one.id);
    if (job == nullptr) continue;
    // One that is ending does so by our word or by its own: what it has becomes free.
    const bool holds = job->phase == JobPhase::kHolding && job->may_requeue && !job->gate;
    if (holds || job->phase == JobPhase::kEnding) leaving.insert(job->id);
  }
  return leaving;
}

std::vector<PutBackDue> due_put_backs(const Observed& observed, const std::vector<PutBack>& wanted,
                                      const DevicesOfNodes& kept, const std::string& cluster) {
  std::vector<PutBackDue> due;
  if (wanted.empty()) return due;
  const std::set<std::string> waiting = waiting_fence_names(observed, cluster);
  const std::set<std::int64_t> leave = observed.jobs_to_leave();
  std::set<std::int64_t> named;  // one may make room for two
  for (const PutBack& one : wanted) {
    const JobSeen* job = find_job(observed, one.id);
    const bool holds = job != nullptr && job->phase == JobPhase::kHolding;
    if (!holds || !job->may_requeue || job->gate || leave.contains(one.id)) continue;
    if (!is_awaited(*job, kept, waiting, cluster) || !named.insert(one.id).second) continue;
    const bool may_say = job->mark.empty() || job->mark.starts_with(kWords);
    due.push_back({job->id, job->handle, may_say ? put_back_words(one.job) : ""});
  }
  return due;
}

}  // namespace dove::slurm
