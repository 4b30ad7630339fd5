#include "slurm/exposure.h"

#include <algorithm>
#include <string>
#include <utility>

#include "telemetry/log.h"

namespace dove::slurm {

Exposure::Exposure()
    : histogram_(telemetry::metrics().histogram(
          "dove_slurm_exposure_seconds",
          "time from the start of a Slurm job until the controller had heard of it")),
      unseen_jobs_(telemetry::metrics().counter(
          "dove_slurm_unseen_jobs_total",
          "Slurm jobs that began and ended before the controller had heard of them")) {}

void Exposure::count(const JobSeen& job, std::int64_t now_us) {
  if (job.phase == JobPhase::kEnded) {
    ++unseen_;
    unseen_jobs_.add(1);
    return;
  }
  const std::int64_t exposure_us = std::max<std::int64_t>(now_us - job.started_s * 1'000'000, 0);
  histogram_.observe(exposure_us);
  longest_us_ = std::max(longest_us_, exposure_us);
  telemetry::log(telemetry::Level::kInfo, "foreign_job_reported",
                 {{"slurm_job", job.id},
                  {"user", job.user},
                  {"node", job.allocations.empty() ? std::string() : job.allocations[0].node},
                  {"exposure_ms", exposure_us / 1000}});
}

void Exposure::reported(const std::vector<JobSeen>& jobs, std::int64_t now_us) {
  const bool first = since_s_ < 0;
  if (first) since_s_ = now_us / 1'000'000;
  std::set<std::int64_t> now;
  for (const JobSeen& job : jobs) {
    // One that was cancelled in the queue has been on no node.
    if (job.phase == JobPhase::kWaiting || job.allocations.empty()) continue;
    now.insert(job.id);
    if (!first && !known_.contains(job.id) && job.started_s >= since_s_) count(job, now_us);
  }
  known_ = std::move(now);
}

void Exposure::log_summary() {
  if (histogram_.count() + unseen_ == logged_) return;
  logged_ = histogram_.count() + unseen_;
  telemetry::log(telemetry::Level::kInfo, "exposure",
                 {{"jobs", histogram_.count()},
                  {"unseen", unseen_},
                  {"median_ms", histogram_.quantile(500) / 1000},
                  {"p99_ms", histogram_.quantile(990) / 1000},
                  {"longest_ms", longest_us_ / 1000}});
}

}  // namespace dove::slurm
