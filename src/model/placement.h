// A placement: what an attempt holds on one node, by id. The ledger's unit and an agent's order.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "model/core_set.h"
#include "model/ids.h"
#include "model/resources.h"

namespace dove {

// Where on its device a slice lies, in the words of NVIDIA's management library.
struct SlicePlace {
  std::int32_t start = 0;    // first memory slot
  std::int32_t size = 0;     // memory slots; 0: not a slice
  std::int32_t compute = 0;  // slots of processors; with size and model, the profile
  bool operator==(const SlicePlace&) const = default;
};

// A whole device (1000), a share of one, or a slice of one, which the agent cuts before the start.
struct DeviceGrant {
  std::int32_t device = 0;                        // index into the node's Inventory::devices
  std::int32_t share_milli = kWholeDevice_milli;  // of a slice: its part of the memory
  SlicePlace slice = {};
  bool is_slice() const { return slice.size > 0; }
  bool operator==(const DeviceGrant&) const = default;
};

// What one task gets. cores and devices are those of its placement, split among its tasks; what was
// asked per node (not per task) is seen by all tasks of the placement.
struct TaskGrant {
  Rank rank = 0;
  std::int32_t group = 0;       // index into JobSpec::groups
  std::int32_t local_rank = 0;  // position among the attempt's tasks on this node, from 0
  CoreSet cores;
  std::vector<DeviceGrant> devices;
  bool operator==(const TaskGrant&) const = default;
};

struct Placement {
  NodeId node;
  std::int32_t node_rank = 0;        // position of the node in the attempt, from 0
  CoreSet cores;                     // all
  std::vector<DeviceGrant> devices;  // all, ascending by device, slices of one by start
  std::int64_t memory_bytes = 0;
  std::vector<Countable> countables;
  std::vector<TaskGrant> tasks;  // ascending by rank
  bool operator==(const Placement&) const = default;
};

// A placement that changes no more, shared by all who keep it: the decision, the ledger and its
// forks. Never without one; reads as what it is. May be shared between threads.
class SharedPlacement {
 public:
  SharedPlacement() : SharedPlacement(Placement{}) {}
  SharedPlacement(Placement placement)
      : placement_(std::make_shared<const Placement>(std::move(placement))) {}

  const Placement& operator*() const { return *placement_; }
  const Placement* operator->() const { return placement_.get(); }
  operator const Placement&() const { return *placement_; }
  bool operator==(const SharedPlacement& other) const { return *placement_ == *other.placement_; }

 private:
  std::shared_ptr<const Placement> placement_;
};

// What nobody changes from now on.
inline std::vector<SharedPlacement> shared(std::vector<Placement> placements) {
  return {std::make_move_iterator(placements.begin()), std::make_move_iterator(placements.end())};
}

}  // namespace dove
