#include "slurm/fences/last_signal.h"

#include <algorithm>

#include "telemetry/log.h"

namespace dove::slurm {

bool is_silence(const Error& error) {
  return error.kind == ErrorKind::kTimeout || error.code == "cannot_start" ||
         error.message.find("Unable to contact") != std::string::npos;
}

Result<std::int64_t> send_last_signal(SlurmCluster& slurm, std::int64_t job,
                                      const std::string& handle, std::int64_t wait_max_s) {
  if (wait_max_s == 0) return 0;
  const Result<std::int64_t> wants_s = slurm.warn(handle);
  if (wants_s.ok() && *wants_s == 0) return 0;
  const std::int64_t wait_s = wants_s.ok() ? std::min(*wants_s, wait_max_s) : 0;
  telemetry::log(wants_s.ok() ? telemetry::Level::kInfo : telemetry::Level::kWarning,
                 "foreign_job_warned",
                 {{"slurm_job", job},
                  {"wait_s", wait_s},
                  {"why_not", wants_s.ok() ? "" : wants_s.error().message}});
  if (!wants_s.ok() && is_silence(wants_s.error())) return wants_s.error();
  return wait_s;
}

}  // namespace dove::slurm
