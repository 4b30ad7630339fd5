// GangReplay: a trace of gangs on equal nodes under a published order of jobs, as Muri's simulator
// (SIGCOMM'22) runs it. Our own scheduler is replayed by sim/live_gangs.h.
//
// At every event (arrival, first completion, a job's change of level) all jobs are sorted again and
// placed again from empty nodes, in that order; who does not fit is passed over. Each running job
// loses its switching overhead at every event but its own end. Pure: same input, same result.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/published/job_order.h"
#include "sim/traces/gang_trace.h"

namespace dove::sim {

enum class Packing {
  kNodes,  // up to a node's GPUs on one node, the first that fits; more: whole idle nodes and the
           // remainder on a further one
  kSum,    // GPUs are only counted, as Muri's simulator does for Tiresias
};

struct GangCluster {
  std::int64_t nodes = 8;
  std::int64_t gpus_per_node = 8;
  Packing packing = Packing::kNodes;
};

struct GangResult {
  std::vector<Span> completion;  // by job, from submission to end
  Instant last_end;              // from the trace's time 0
  std::int64_t events = 0;
  std::int64_t starts = 0;  // and restarts
};

// Fails when a job is larger than the cluster. REQUIRES: jobs is not empty.
Result<GangResult> replay_gangs(const std::vector<GangJob>& jobs, const GangCluster& cluster,
                                const JobOrder& order);

}  // namespace dove::sim
