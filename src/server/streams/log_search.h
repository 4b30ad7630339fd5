// Searches in the stored log by position and by time. They read, and so block: on the log's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "base/result.h"
#include "store/log_store.h"

namespace dove::server {

// Whether a read failed only because retention has dropped what it asked for.
template <class Value>
bool is_forgotten(const Result<Value>& read) {
  return !read.ok() && read.error().code == "records_forgotten";
}

// Whole batches after `after`, with at least `records` records where the log has them; fewer once
// `stops`.
Result<std::vector<store::Batch>> read_window(store::LogStore& log, Seq after, std::size_t records,
                                              const std::atomic<bool>& stops);

// The first point behind which the log can be read, `kept` at the latest. REQUIRES: not at
// `forgotten`. Errors: what the log says, but for records_forgotten.
Result<Seq> oldest_after(store::LogStore& log, Seq forgotten, Seq kept,
                         const std::atomic<bool>& stops);

// The first point from `low` on behind which all that is kept is of `at` or later; `high` at the
// latest. Errors: what the log says, but for records_forgotten.
Result<Seq> last_before(store::LogStore& log, Seq low, Seq high, Instant at,
                        const std::atomic<bool>& stops);

}  // namespace dove::server
