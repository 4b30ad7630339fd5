#include "slurm/exposure.h"

#include <algorithm>
#include <string>
#include <utility>

#include "telemetry/log.h"

namespace dove::slurm {

Exposure::Exposure()
    : histogram_(telemetry::metrics().histogram(
          "dove_slurm_exposure_seconds",
          "time from the start of a Slurm job until the controller had heard of it")) {}

void Exposure::reported(const std::vector<JobSeen>& foreign, std::int64_t now_us) {
  std::set<std::int64_t> now;
  for (const JobSeen& job : foreign) {
    now.insert(job.id);
    if (first_ || known_.contains(job.id)) continue;
    const std::int64_t exposure_us = std::max<std::int64_t>(now_us - job.started_s * 1'000'000, 0);
    histogram_.observe(exposure_us);
    longest_us_ = std::max(longest_us_, exposure_us);
    telemetry::log(telemetry::Level::kInfo, "foreign_job_reported",
                   {{"slurm_job", job.id},
                    {"user", job.user},
                    {"node", job.held.empty() ? std::string() : job.held[0].node},
                    {"exposure_ms", exposure_us / 1000}});
  }
  known_ = std::move(now);
  first_ = false;
}

void Exposure::log_summary() {
  if (histogram_.count() == logged_) return;
  logged_ = histogram_.count();
  telemetry::log(telemetry::Level::kInfo, "exposure",
                 {{"jobs", logged_},
                  {"median_ms", histogram_.quantile(500) / 1000},
                  {"p99_ms", histogram_.quantile(990) / 1000},
                  {"longest_ms", longest_us_ / 1000}});
}

}  // namespace dove::slurm
