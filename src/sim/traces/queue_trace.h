// QueueTrace: what was submitted to a cluster, by whom, how wide, and how long it ran.
//
// Two formats. Philly (Microsoft's trace as Sia ships it): CSV with timestamp (2017-10-09
// 07:01:55), duration (s), num_gpus and cluster, the virtual cluster. SWF (the Parallel Workloads
// Archive's standard workload format): 18 numbers a line, remarks begin with a semicolon;
// processors count as GPUs, the user is the account. Jobs that never ran (cancelled before, size or
// run time unknown) are left out and counted. Time 0 is the first submission.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/time.h"

namespace dove::sim {

struct QueueJob {
  Instant submitted_at;
  Span run;
  Span limit;  // what its submitter asked for; the run itself where the trace does not say
  std::int64_t gpus = 1;
  std::size_t account = 0;
  bool says_limit = false;  // `limit` is the submitter's
};

struct QueueTrace {
  std::vector<QueueJob> jobs;  // by submission, equal ones in the order of the file
  std::vector<std::string> accounts;
  std::int64_t left_out = 0;
  bool accounts_are_queues = false;  // virtual clusters; else they are users of one queue
};

Result<QueueTrace> read_philly(const std::string& path);
Result<QueueTrace> read_swf(const std::string& path);

}  // namespace dove::sim
