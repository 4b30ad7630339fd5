// QueueReplay: a trace through a queue in front of a cluster; jobs once started run to their end.
//
// Event-driven: at every end and arrival the waiting jobs are looked at in the policy's order.
// Pure: same input, same result.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/queue/order.h"
#include "sim/queue_trace.h"

namespace dove::sim {

enum class Admission {
  kPassOver,     // who does not fit is passed over
  kPatience,     // likewise, until it has waited for four mean runs of ended jobs: then it blocks
                 // those after it, and from 64 on, once it is the first, everybody: none starves
  kHeadBlocks,   // nobody starts before the first one
  kReserveHead,  // EASY: the first that does not fit gets the earliest time at which it would, by
                 // the limits of running jobs; others start if they do not delay it
};

struct QueuePolicy {
  const core::JobOrder* order = nullptr;
  Admission admission = Admission::kPassOver;
  bool by_share = false;  // a start changes the order of what waits
};

struct QueueResult {
  std::vector<Span> waited;  // by job of the trace
  Instant last_end;
  __int128 used_gpu_us = 0;
  std::int64_t longest_queue = 0;
};

// Fails when a job is larger than the cluster.
Result<QueueResult> replay_queue(const QueueTrace& trace,
                                 const std::vector<std::int64_t>& gpus_by_node,
                                 const QueuePolicy& policy);

}  // namespace dove::sim
