// Slurm's weights of priority/multifactor as the weights of the order multifactor.
//
// Slurm's factors range from 0 to 1, and a factor without a weight does not count. Our factors of
// age and past use are the same. Those of size and QoS count in GPUs and points of priority, so
// their weights are divided by the capacity of the whole cluster and by the highest priority of a
// QoS. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "slurm/migrate/objects.h"
#include "slurm/migrate/reporter.h"

namespace dove::slurm {

class PriorityWeights {
 public:
  // One option of slurm.conf, its name in lower case; others are passed over. What it becomes is
  // reported of the last option.
  void read(std::string_view name, const std::string& value, Reporter& report);
  // Nodes have this number of GPUs and CPUs.
  void add_node(std::int64_t gpus, std::int64_t cpus) { milli_ += gpus * 1000 + cpus * 100; }
  // `highest`: the priority of the first QoS; 0: unknown.
  void write(std::int64_t highest, Object& cluster) const;

 private:
  bool given_ = false;  // a weight
  bool basic_ = false;
  bool small_first_ = false;
  std::int64_t age_ = 0;
  std::int64_t max_age_s_ = std::int64_t{7} * 24 * 3600;  // Slurm's default
  std::int64_t fair_share_ = 0;
  std::int64_t size_ = 0;
  std::int64_t qos_ = 0;
  std::int64_t milli_ = 0;  // of all nodes
};

}  // namespace dove::slurm
