#include "core/state/learned/run_history.h"

namespace dove::core {
namespace {

constexpr std::int64_t kWithoutHistory_ms = 600'000;
// The mean of the next wider circle weighs as much as that many jobs: the first ones of a user move
// the estimate, and do not make it.
constexpr std::int64_t kPriorJobs = 8;
constexpr std::size_t kUsersMax = 100'000;  // as many as are known by name

// 0 up to one GPU, then one more for each doubling.
std::int32_t width_class(std::int64_t size_milli) {
  std::int32_t width = 0;
  // The bound keeps the shift within 64 bits.
  while (width < 40 && size_milli > std::int64_t{1000} << width) ++width;
  return width;
}

void count(RunCounts& counts, Span ran) {
  ++counts.ended;
  counts.ran_ms += ran.us / 1000;
}

std::int64_t mean_ms(const RunCounts& counts, std::int64_t prior_ms, std::int64_t prior_jobs) {
  return (counts.ran_ms + prior_jobs * prior_ms) / (counts.ended + prior_jobs);
}

}  // namespace

void RunHistory::ended(const std::string& user, std::int64_t size_milli, Span ran) {
  count(all, ran);
  // A later user counts for the mean of all. The state must not grow with names that scripts
  // make up.
  if (by_user.size() >= kUsersMax && !by_user.contains(user)) return;
  UserRuns& runs = by_user[user];
  count(runs.all, ran);
  count(runs.by_width[width_class(size_milli)], ran);
}

Span RunHistory::mean() const { return milliseconds(mean_ms(all, kWithoutHistory_ms, 1)); }

Span RunHistory::likely(const std::string& user, std::int64_t size_milli) const {
  // From all jobs to the user's to those of this width: each narrower mean starts from the wider
  // one.
  std::int64_t found_ms = mean_ms(all, kWithoutHistory_ms, 1);
  if (const auto runs = by_user.find(user); runs != by_user.end()) {
    found_ms = mean_ms(runs->second.all, found_ms, kPriorJobs);
    const auto& by_width = runs->second.by_width;
    if (const auto at = by_width.find(width_class(size_milli)); at != by_width.end()) {
      found_ms = mean_ms(at->second, found_ms, kPriorJobs);
    }
  }
  return milliseconds(found_ms);
}

}  // namespace dove::core
