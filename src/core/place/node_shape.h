// What a group of tasks takes of one node: its tasks there together, beside what the node gets
// once.
//
// That is what scores are asked about, and what the mix counts: eight tasks of one GPU that are
// bound to one node need a node with eight free GPUs, and so does one task with eight for its node.
#pragma once

#include <cstdint>

#include "model/job.h"

namespace dove::core {

struct NodeShape {
  std::int64_t nodes = 1;  // the number of nodes that are taken so
  std::int64_t tasks = 1;  // on each
  std::int64_t cores = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t gpus = 0;         // whole ones
  std::int32_t share_milli = 0;  // of one device
  std::int64_t slices = 0;       // of one profile
  // The group's request that names model, memory and profile of the devices; null without any.
  const Request* devices = nullptr;
  // Whether every node of the group is taken so. Not if it is up to the search how many tasks a
  // node gets, if tasks are left over for another node, or if a node gives several shares or
  // devices of two kinds. Then the shape says what to expect of such jobs, and no more.
  bool is_exact = true;

  // Whole ones or a share: what the mix is about.
  bool has_devices() const { return gpus > 0 || share_milli > 0; }
};

// Refers to `group`.
NodeShape node_shape(const TaskGroup& group);

// Whether a score can say where the job goes: it is one group with an exact shape, and any node of
// its pool will do that has the cores, memory and devices.
bool has_one_shape(const JobSpec& spec);

}  // namespace dove::core
