#include "sim/published/queue_nodes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace dove::sim {

QueueNodes::QueueNodes(std::vector<std::int64_t> gpus_by_node) : free_(std::move(gpus_by_node)) {
  for (const std::int64_t gpus : free_) {
    largest_ = std::max(largest_, gpus);
    total_ += gpus;
  }
  free_sum_ = total_;
  with_free_.resize(static_cast<std::size_t>(largest_) + 1);
  for (std::size_t node = 0; node < free_.size(); ++node) {
    with_free_[static_cast<std::size_t>(free_[node])].insert(node);
  }
}

std::optional<Taken> QueueNodes::find(std::int64_t gpus) const {
  if (gpus > free_sum_) return std::nullopt;
  const std::int64_t whole = gpus > largest_ ? gpus / largest_ : 0;
  const std::int64_t rest = gpus - whole * largest_;
  const std::set<std::size_t>& idle = with_free_.back();
  if (static_cast<std::int64_t>(idle.size()) < whole) return std::nullopt;
  Taken taken;
  auto next = idle.begin();
  for (std::int64_t i = 0; i < whole; ++i) taken.push_back({*next++, largest_});
  if (rest == 0) return taken;
  for (auto free = static_cast<std::size_t>(rest); free < with_free_.size(); ++free) {
    const bool among_idle = free + 1 == with_free_.size();
    const auto at = among_idle ? next : with_free_[free].begin();
    if (at == with_free_[free].end()) continue;
    taken.push_back({*at, rest});
    return taken;
  }
  return std::nullopt;
}

void QueueNodes::change(std::size_t node, std::int64_t by) {
  with_free_[static_cast<std::size_t>(free_[node])].erase(node);
  free_[node] += by;
  CHECK(free_[node] >= 0 && free_[node] <= largest_, "a node has between none and all GPUs free");
  with_free_[static_cast<std::size_t>(free_[node])].insert(node);
  free_sum_ += by;
}

void QueueNodes::allocate(const Taken& taken) {
  for (const NodeTake& it : taken) change(it.node, -it.gpus);
}

void QueueNodes::release(const Taken& taken) {
  for (const NodeTake& it : taken) change(it.node, it.gpus);
}

bool QueueNodes::has(const Taken& taken) const {
  return std::all_of(taken.begin(), taken.end(),
                     [&](const NodeTake& it) { return free_[it.node] >= it.gpus; });
}

}  // namespace dove::sim
