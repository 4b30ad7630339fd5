// OpenbTrace: Alibaba's cluster-trace-gpu-v2023 in the form of the published fragmentation
// experiments (Weng et al., USENIX ATC'23; hkust-adsl/kubernetes-scheduler-simulator).
//
// Three files: a list of nodes (sn, cpu_milli, memory_mib, gpu, model), a list of tasks (name,
// cpu_milli, memory_mib, num_gpu, gpu_milli and, if models are asked for, gpu_spec), and arrivals:
// a line with the rank of each node and a line of task numbers, both lists counted in the order of
// names; lines that begin with # are comments. Errors name file, line and column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/place/score.h"

namespace dove::sim {

struct OpenbTrace {
  std::vector<core::NodeClass> nodes;    // ascending by rank: ties go to the first
  std::vector<core::NodeClass> classes;  // of all nodes, each once
  std::vector<core::TaskShape> shapes;   // each once
  std::vector<std::int32_t> arrivals;    // index of a shape
  std::int64_t tasks = 0;                // in the list that arrivals are drawn from
  // The commonest tasks that are together 95 % of the list, as the published experiments take them.
  std::vector<core::MixEntry> typical;

  std::int64_t gpus_milli() const;  // of all nodes
};

struct OpenbFiles {
  std::string nodes;
  std::string tasks;
  std::string arrivals;
};

Result<OpenbTrace> read_openb(const OpenbFiles& files);

}  // namespace dove::sim
