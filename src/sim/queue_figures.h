// QueueFigures: what a replay of a queue says in a few numbers, for reports.
//
// The slowdown of a job is its time in the system over its run, which counts at least 10 s (bounded
// slowdown, Feitelson 2001); of an account, the mean over its jobs; the worst account is the
// measure of fairness.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/time.h"
#include "sim/traces/queue_trace.h"

namespace dove::sim {

// What a replay found.
struct QueueResult {
  std::vector<Span> waited;  // by job of the trace, until it ran for the first time
  Instant last_end;
  __int128 used_gpu_us = 0;
  std::int64_t longest_queue = 0;
  std::vector<Span> took;    // by job, from submission to end; empty: as long as it waited and ran
  std::int64_t stopped = 0;  // attempts, for others
};

struct AccountFigures {
  std::string name;
  std::int64_t jobs = 0;
  double wait_s = 0;  // mean
  double slowdown = 0;
};

struct QueueFigures {
  double wait_s = 0;  // mean
  double wait_p99_s = 0;
  double wait_max_s = 0;
  std::int64_t jobs_waited = 0;
  double jct_s = 0;  // mean
  double makespan_s = 0;
  double use_pct = 0;  // of all GPUs, from first submission to last end; 0 where there are none
  AccountFigures worst;
  std::vector<AccountFigures> accounts;
};

QueueFigures figures_of(const QueueTrace& trace, const QueueResult& result, std::int64_t gpus);

}  // namespace dove::sim
