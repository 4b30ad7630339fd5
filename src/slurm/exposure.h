// Exposure: how long Slurm's jobs ran before the controller had heard of them.
//
// In watch mode Slurm starts jobs by itself; for this long the ledger may give their devices to
// somebody else. Slurm stamps starts in whole seconds, and so a value is up to one second too long.
// One thread.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "slurm/observed.h"
#include "telemetry/metrics.h"

namespace dove::slurm {

class Exposure {
 public:
  Exposure();

  // The controller has taken a report of these. Jobs of the first report are not counted: nobody
  // watched when they started. Logs each new one.
  void reported(const std::vector<JobSeen>& foreign, std::int64_t now_us);
  // One line of log with the counts so far, if there is something new.
  void log_summary();

 private:
  std::set<std::int64_t> known_;
  bool first_ = true;
  std::int64_t longest_us_ = 0;
  std::uint64_t logged_ = 0;
  telemetry::Histogram& histogram_;
};

}  // namespace dove::slurm
