// Exposure: how long Slurm's jobs ran before the controller heard of them, and how many it never
// heard of.
//
// In watch mode Slurm starts jobs by itself; meanwhile the ledger may give their devices to
// somebody else. Slurm stamps starts in whole seconds, so a value is up to one second too long. One
// thread.
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

  // The controller has taken a report of these jobs, all that Slurm lists at that look but our
  // placeholders. Jobs that had begun before the first report are not counted: nobody watched.
  // Logs each that is new.
  void reported(const std::vector<JobSeen>& jobs, std::int64_t now_us);
  // Jobs that began and ended between two reports.
  std::uint64_t unseen() const { return unseen_; }
  // One line of log with the counts so far, if there is something new.
  void log_summary();

 private:
  void count(const JobSeen& job, std::int64_t now_us);

  std::set<std::int64_t> known_;
  std::int64_t since_s_ = -1;  // the first report; -1: there was none
  std::uint64_t unseen_ = 0;
  std::int64_t longest_us_ = 0;
  std::uint64_t logged_ = 0;
  telemetry::Histogram& histogram_;
  telemetry::Counter& unseen_jobs_;
};

}  // namespace dove::slurm
