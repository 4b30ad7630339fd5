// QueueReplay: a trace through a published scheduler's queue in front of a cluster; jobs once
// started run to their end. Our own scheduler is replayed by sim/live_queue.h.
//
// Event-driven: at every end and arrival the waiting jobs are looked at in the policy's order.
// Pure: same input, same result.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/published/job_order.h"
#include "sim/queue_figures.h"
#include "sim/traces/queue_trace.h"

namespace dove::sim {

enum class Admission {
  kPassOver,     // who does not fit is passed over
  kHeadBlocks,   // nobody starts before the first one
  kReserveHead,  // EASY: the first that does not fit gets the earliest time at which it would, by
                 // the limits of running jobs; others start if they do not delay it
};

struct QueuePolicy {
  const JobOrder* order = nullptr;
  Admission admission = Admission::kPassOver;
  bool by_share = false;  // a start changes the order of what waits
};

// Fails when a job is larger than the cluster.
Result<QueueResult> replay_queue(const QueueTrace& trace,
                                 const std::vector<std::int64_t>& gpus_by_node,
                                 const QueuePolicy& policy);

}  // namespace dove::sim
