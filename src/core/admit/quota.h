// Quotas: how much of each limit its holder uses, and who may raise the limit.
//
// Pure. Amounts are as in model/declared.h: GPUs in thousandths, memory in bytes, months in GPUs
// times milliseconds, time limits in seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/place/limits.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

struct QuotaRow {
  std::string level;      // "user", "project", "domain", "queue"
  std::string name;       // of the holder
  std::string resource;   // "jobs_running", "jobs_waiting", "cores", "gpus_milli", "memory_bytes",
                          // a countable's name, "gpus_milli:MODEL", "gpu_ms_month"; of one job
                          // "job_nodes", "job_cores", "job_gpus_milli", "job_memory_bytes",
                          // "job_time_limit_s"
  std::int64_t used = 0;  // of projects and domains with what waiting jobs ask for
  std::int64_t limit = 0;
  std::int64_t asked = 0;  // the part of `used` that waiting jobs ask for
  Instant ends_at = {};    // of a month; 0: it is none
};

// Every limit that holds for the user: their own, those of `projects`, of the domains of both, and
// of all queues.
std::vector<QuotaRow> quota_of(const State& state, const std::string& user,
                               const std::vector<std::string>& projects);

// "cores: 12 used, 8 asked, limit 16, over by 4".
std::string over_text(const Reason& broken);

// Whether each job by itself is within what its user, project, domain and queues may have in one.
// The verdict on each limit; of several holders that refuse it, those of the first. Errors:
// kInvalid job_limit, time_limit_needed.
std::vector<Result<void>> check_job_limits(const State& state, const JobSpec& spec);

// Whether something is left of this month, for a job that cannot wait for the next one. Errors:
// kExhausted month_used_up. And what to tell one that can; "": something is left.
Result<void> check_month(const State& state, const JobSpec& spec);
std::string month_warning(const State& state, const JobSpec& spec);

}  // namespace dove::core
