#include "sim/published/gang_nodes.h"

#include <algorithm>

namespace dove::sim {

GangNodes::GangNodes(const GangCluster& cluster)
    : cluster_(cluster),
      free_sum_(cluster.nodes * cluster.gpus_per_node),
      free_(static_cast<std::size_t>(cluster.nodes), cluster.gpus_per_node) {}

bool GangNodes::allocate(std::int64_t gpus) {
  if (gpus > free_sum_) return false;
  if (cluster_.packing == Packing::kNodes) {
    if (gpus > cluster_.gpus_per_node) {
      if (!take_across(gpus)) return false;
    } else {
      const auto at =
          std::find_if(free_.begin(), free_.end(), [&](std::int64_t free) { return free >= gpus; });
      if (at == free_.end()) return false;
      *at -= gpus;
    }
  }
  free_sum_ -= gpus;
  return true;
}

bool GangNodes::take_across(std::int64_t gpus) {
  std::int64_t whole = gpus / cluster_.gpus_per_node;
  const std::int64_t rest = gpus % cluster_.gpus_per_node;
  std::vector<std::size_t> taken;
  std::size_t of_rest = free_.size();
  for (std::size_t node = 0; node < free_.size(); ++node) {
    if (whole > 0 && free_[node] == cluster_.gpus_per_node) {
      taken.push_back(node);
      --whole;
    } else if (of_rest == free_.size() && free_[node] >= rest) {
      of_rest = node;
    }
  }
  if (whole > 0 || (rest > 0 && of_rest == free_.size())) return false;
  for (const std::size_t node : taken) free_[node] = 0;
  if (rest > 0) free_[of_rest] -= rest;
  return true;
}

}  // namespace dove::sim
