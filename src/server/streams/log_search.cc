#include "server/streams/log_search.h"

namespace dove::server {

Result<std::vector<store::Batch>> read_window(store::LogStore& log, Seq after, std::size_t records,
                                              const std::atomic<bool>& stops) {
  std::vector<store::Batch> batches;
  std::size_t read = 0;
  TRY(log.read(after, [&](const store::Batch& batch) {
    batches.push_back(batch);
    read += batch.events.size() + batch.decisions.size();
    return read < records && !stops;
  }));
  return batches;
}

Result<Seq> oldest_after(store::LogStore& log, Seq forgotten, Seq kept,
                         const std::atomic<bool>& stops) {
  while (kept.value - forgotten.value > 1 && !stops) {
    const Seq middle(forgotten.value + (kept.value - forgotten.value) / 2);
    const Result<void> read = log.read(middle, [](const store::Batch&) { return false; });
    if (!read.ok() && !is_forgotten(read)) return read.error();
    (read.ok() ? kept : forgotten) = middle;
  }
  return kept;
}

Result<Seq> last_before(store::LogStore& log, Seq low, Seq high, Instant at,
                        const std::atomic<bool>& stops) {
  // Instants never go back from a batch to the next. What was forgotten is older than what is kept.
  const auto is_late = [&](Seq after) -> Result<bool> {
    bool late = true;
    const Result<void> read = log.read(after, [&](const store::Batch& batch) {
      late = batch.at >= at;
      return false;
    });
    if (read.ok()) return late;
    return is_forgotten(read) ? Result<bool>(false) : Result<bool>(read.error());
  };
  if (low >= high) return low;
  TRY_ASSIGN(const bool all_late, is_late(low));
  if (all_late) return low;
  while (high.value - low.value > 1 && !stops) {
    const Seq middle(low.value + (high.value - low.value) / 2);
    TRY_ASSIGN(const bool late, is_late(middle));
    (late ? high : low) = middle;
  }
  return high;
}

}  // namespace dove::server
