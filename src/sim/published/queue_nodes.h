// QueueNodes: nodes by what they have free, as jobs come and go.
//
// A job that a node of the largest kind can hold gets one node: the one that it leaves the least
// on, then the lowest index. A wider one gets whole idle nodes of the largest kind and what remains
// on one more. Search is over counts of free GPUs, not over nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace dove::sim {

struct NodeTake {
  std::size_t node = 0;
  std::int64_t gpus = 0;
};
using Taken = std::vector<NodeTake>;

class QueueNodes {
 public:
  explicit QueueNodes(std::vector<std::int64_t> gpus_by_node);

  std::int64_t free() const { return free_sum_; }
  std::int64_t total() const { return total_; }
  // Where a job of `gpus` GPUs would go; nothing is taken. REQUIRES: gpus > 0.
  std::optional<Taken> find(std::int64_t gpus) const;
  // REQUIRES: what is taken is free there; what is given back was taken.
  void allocate(const Taken& taken);
  void release(const Taken& taken);
  // Whether all of it is free.
  bool has(const Taken& taken) const;

 private:
  void change(std::size_t node, std::int64_t by);

  std::vector<std::int64_t> free_;                // by node
  std::vector<std::set<std::size_t>> with_free_;  // by free GPUs
  std::int64_t largest_ = 0;
  std::int64_t free_sum_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace dove::sim
