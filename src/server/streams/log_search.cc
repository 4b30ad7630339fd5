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

Seq oldest_after(store::LogStore& log, Seq forgotten, Seq kept, const std::atomic<bool>& stops) {
  while (kept.value - forgotten.value > 1 && !stops) {
    const Seq middle(forgotten.value + (kept.value - forgotten.value) / 2);
    const bool is_kept = log.read(middle, [](const store::Batch&) { return false; }).ok();
    (is_kept ? kept : forgotten) = middle;
  }
  return kept;
}

Seq last_before(store::LogStore& log, Seq low, Seq high, Instant at,
                const std::atomic<bool>& stops) {
  // Instants never go back from a batch to the next. What was forgotten is older than what is kept.
  const auto is_late = [&](Seq after) {
    bool late = true;
    const Result<void> read = log.read(after, [&](const store::Batch& batch) {
      late = batch.at >= at;
      return false;
    });
    return read.ok() && late;
  };
  if (low >= high || is_late(low)) return low;
  while (high.value - low.value > 1 && !stops) {
    const Seq middle(low.value + (high.value - low.value) / 2);
    (is_late(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace dove::server
