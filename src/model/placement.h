// A placement: what an attempt holds on one node, by id. The ledger's unit and an agent's order.
#pragma once

#include <cstdint>
#include <vector>

#include "model/ids.h"
#include "model/resources.h"

namespace dove {

// A whole device (1000) or a share of one.
struct DeviceGrant {
  std::int32_t device = 0;  // index into the node's Inventory::devices
  std::int32_t share_milli = kWholeDevice_milli;
  bool operator==(const DeviceGrant&) const = default;
};

// What one task gets. cores and devices are those of its placement, split among its tasks; what was
// asked per node (not per task) is seen by all tasks of the placement.
struct TaskGrant {
  Rank rank = 0;
  std::int32_t group = 0;       // index into JobSpec::groups
  std::int32_t local_rank = 0;  // position among the attempt's tasks on this node, from 0
  std::vector<std::int32_t> cores;
  std::vector<DeviceGrant> devices;
  bool operator==(const TaskGrant&) const = default;
};

struct Placement {
  NodeId node;
  std::int32_t node_rank = 0;        // position of the node in the attempt, from 0
  std::vector<std::int32_t> cores;   // all, ascending
  std::vector<DeviceGrant> devices;  // all, ascending by device
  std::int64_t memory_bytes = 0;
  std::vector<Countable> countables;
  std::vector<TaskGrant> tasks;  // ascending by rank
  bool operator==(const Placement&) const = default;
};

}  // namespace dove
