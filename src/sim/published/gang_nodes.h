// GangNodes: free GPUs of equal nodes while a replay places gangs one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/published/gang_replay.h"

namespace dove::sim {

class GangNodes {
 public:
  explicit GangNodes(const GangCluster& cluster);  // all free
  // Takes that many GPUs by the cluster's packing, or nothing. REQUIRES: gpus > 0.
  bool allocate(std::int64_t gpus);

 private:
  bool take_across(std::int64_t gpus);

  const GangCluster& cluster_;
  std::int64_t free_sum_;
  std::vector<std::int64_t> free_;  // by node
};

}  // namespace dove::sim
