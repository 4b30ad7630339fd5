#include "core/place/mix.h"

#include <algorithm>

namespace dove::core {

void Mix::add(const TaskShape& task, std::int64_t count) {
  TaskShape shape = task;
  // Memory is asked for in any amount. With it, nearly every task would be a shape of its own.
  shape.memory_bytes = 0;
  counts_[shape] += count;
  tasks_ += count;
}

std::vector<MixEntry> Mix::typical() const {
  std::vector<MixEntry> all;
  // From the largest shape down, so that the stable sort leaves larger ones first among equals.
  for (auto at = counts_.rbegin(); at != counts_.rend(); ++at)
    all.push_back({at->first, at->second});
  std::stable_sort(all.begin(), all.end(),
                   [](const MixEntry& a, const MixEntry& b) { return a.count > b.count; });
  std::int64_t covered = 0;
  std::size_t kept = 0;
  // The rare shapes at the end are most of the list and little of the work: each costs a score on
  // every class of nodes.
  while (kept < all.size() && 100 * covered < kCovered_pct * tasks_) covered += all[kept++].count;
  all.resize(kept);
  return all;
}

bool Mix::has_doubled() {
  if (tasks_ < next_) return false;
  // Doubling: a scorer is prepared as often as the logarithm of the tasks.
  next_ = 2 * tasks_;
  return true;
}

}  // namespace dove::core
