// What a group of tasks takes of one node: its tasks there together, beside what the node gets
// once.
//
// That is what scores are asked about, and what the mix counts: eight tasks of one GPU that are
// bound to one node need a node with eight free GPUs, and so does one task with eight for its node.
#pragma once

#include <cstdint>
#include <optional>

#include "model/job.h"

namespace dove::core {

struct NodeShape {
  std::int64_t nodes = 1;  // the number of nodes that are taken so
  std::int64_t tasks = 1;  // on each
  std::int64_t cores = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t gpus = 0;         // whole ones
  std::int32_t share_milli = 0;  // of one device
  std::int64_t shares = 0;       // of that size, each on whichever device; 0 without share_milli
  std::int64_t slices = 0;       // of one profile
  // The group's request that names model, memory and profile of the devices; null without any.
  const Request* devices = nullptr;

  // Whole ones or a share: what the mix is about.
  bool has_devices() const { return gpus > 0 || share_milli > 0; }
};

// What to expect of such groups; refers to `group`. Where it is up to the search how many tasks a
// node gets, each may be alone.
NodeShape node_shape(const TaskGroup& group);

// What each of its nodes is to give, where a score can say which: the job is one group whose nodes
// are taken alike, each whatever the others are; it may ask for features, names and custom
// resources besides. Where it is up to the search how many tasks a node gets, that is what the
// search would try first: all tasks on as few nodes as the job may have. Refers to `spec`.
std::optional<NodeShape> scored_shape(const JobSpec& spec);

}  // namespace dove::core
