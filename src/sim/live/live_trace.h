// Replays of traces through the live scheduler (sim/live/live_cluster.h), under the settings given.
//
// What it is told is what a server would be: who submitted a job, how wide it is, and its time
// limit where the trace has one; never how long it will run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/queue/policy.h"
#include "model/declared.h"
#include "sim/openb_figures.h"
#include "sim/queue_figures.h"
#include "sim/traces/gang_trace.h"
#include "sim/traces/log_trace.h"
#include "sim/traces/openb_trace.h"
#include "sim/traces/queue_trace.h"

namespace dove::sim {

struct LiveScheduler {
  const core::Policies& policies;
  ClusterSettings settings;
};

// Nobody allows that a job is stopped. Accounts are queues of equal weight where the trace says
// that they are queues, else users. Fails when a job is larger than the cluster.
Result<QueueResult> replay_live_queue(const QueueTrace& trace,
                                      const std::vector<std::int64_t>& gpus_by_node,
                                      const LiveScheduler& scheduler);

struct LiveLog {
  QueueTrace trace;  // the runs that came to their end here; a user is an account
  QueueResult result;
  std::int64_t not_run = 0;  // runs of the log that did not
  std::string why;           // of the first of them
};

// The jobs of a log as they were submitted, on its nodes, with its queues, users, limits and
// reservations. The settings are the scheduler's; the log gives the cluster's countables alone.
// Preemptible jobs may be stopped. A job whose dependency names a job that is not in `work` does
// not begin before it was eligible in the log.
Result<LiveLog> replay_live_log(const LoggedWork& work, const LiveScheduler& scheduler);

struct LiveGangs {
  std::vector<Span> completion;  // by job, from submission to end
  Instant last_end;              // from the trace's time 0
  std::int64_t starts = 0;       // and restarts
};

// Every job may be stopped and goes on later where it was. All are one user's. A running job loses
// its overhead at each arrival and each end but its own, as in Muri's simulator.
Result<LiveGangs> replay_live_gangs(const std::vector<GangJob>& jobs, std::int64_t nodes,
                                    std::int64_t gpus_per_node, const LiveScheduler& scheduler);

// What a task of the list is to the scheduler.
enum class OpenbJobs {
  kTasks,  // a job of one task
  kSplit,  // with several GPUs: as many tasks with one each, which may be on one node or on several
  kHalves,    // with a share of a GPU: two tasks on one node with half of it each
  kFeatures,  // with GPUs: asks for a feature of nodes: its models, else one that all with GPUs
              // have
};

// As sim/published/openb_replay.h: a task that has no place when it arrives is cancelled. CPU is
// counted in cores of 4 milli, rounded up.
Result<OpenbResult> replay_live_openb(const OpenbTrace& trace, const LiveScheduler& scheduler,
                                      OpenbJobs jobs = OpenbJobs::kTasks);

}  // namespace dove::sim
