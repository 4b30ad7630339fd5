#include "core/state/run_history.h"

namespace dove::core {
namespace {

constexpr std::int64_t kWithoutHistory_ms = 600'000;
constexpr std::int64_t kPriorJobs = 8;

// 0 up to one GPU, then one more for each doubling.
std::int32_t width_class(std::int64_t size_milli) {
  std::int32_t width = 0;
  while (width < 40 && size_milli > std::int64_t{1000} << width) ++width;
  return width;
}

}  // namespace

void RunHistory::ended(std::int64_t account, std::int64_t size_milli, Span ran) {
  for (Counts* counts :
       {&all_, &by_account_[account], &by_width_[{account, width_class(size_milli)}]}) {
    ++counts->ended;
    counts->ran_ms += ran.us / 1000;
  }
}

std::int64_t RunHistory::mean_ms(const Counts& counts, std::int64_t prior_ms,
                                 std::int64_t prior_jobs) {
  return (counts.ran_ms + prior_jobs * prior_ms) / (counts.ended + prior_jobs);
}

Span RunHistory::mean() const { return milliseconds(mean_ms(all_, kWithoutHistory_ms, 1)); }

Span RunHistory::likely(std::int64_t account, std::int64_t size_milli) const {
  std::int64_t found_ms = mean_ms(all_, kWithoutHistory_ms, 1);
  if (const auto at = by_account_.find(account); at != by_account_.end()) {
    found_ms = mean_ms(at->second, found_ms, kPriorJobs);
  }
  if (const auto at = by_width_.find({account, width_class(size_milli)}); at != by_width_.end()) {
    found_ms = mean_ms(at->second, found_ms, kPriorJobs);
  }
  return milliseconds(found_ms);
}

}  // namespace dove::core
