#include "core/place/mix.h"

#include <algorithm>

namespace dove::core {

void Mix::add(const TaskShape& task, std::int64_t count) {
  TaskShape shape = task;
  shape.memory_bytes = 0;
  counts_[shape] += count;
  tasks_ += count;
}

std::vector<MixEntry> Mix::typical() const {
  std::vector<MixEntry> all;
  for (auto at = counts_.rbegin(); at != counts_.rend(); ++at)
    all.push_back({at->first, at->second});
  std::stable_sort(all.begin(), all.end(),
                   [](const MixEntry& a, const MixEntry& b) { return a.count > b.count; });
  std::int64_t covered = 0;
  std::size_t kept = 0;
  while (kept < all.size() && 100 * covered < kCovered_pct * tasks_) covered += all[kept++].count;
  all.resize(kept);
  return all;
}

bool Mix::has_doubled() {
  if (tasks_ < next_) return false;
  next_ = 2 * tasks_;
  return true;
}

}  // namespace dove::core
