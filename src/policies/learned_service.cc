#include "policies/learned_service.h"

#include <algorithm>

#include "core/state/service.h"

namespace dove::policies {
namespace {

// A job that has waited this many times the mean run counts half.
constexpr std::int64_t kPatience = 64;
// The jobs of an account that uses this share of the cluster count double.
constexpr std::int64_t kShareDoubles_ppm = 20'000;

// 1 000 for one GPU, 2 000 for four.
std::int64_t width_root_milli(std::int64_t size_milli) {
  const __int128 square = static_cast<__int128>(size_milli) * 1000;
  std::int64_t low = 0;
  std::int64_t high = std::int64_t{1} << 40;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (static_cast<__int128>(middle) * middle <= square ? low : high) = middle;
  }
  return std::max<std::int64_t>(low, 1);
}

}  // namespace

core::OrderKey LearnedService::key(const core::JobView& job, const core::OrderView& view) const {
  const std::int64_t left_ms = job.likely_run
                                   ? core::service_ms(*job.likely_run, job.size_milli)
                                   : view.outlook.left_ms[static_cast<std::size_t>(job.level)];
  const __int128 alone = static_cast<__int128>(left_ms) * width_root_milli(job.size_milli);
  const __int128 cost = alone * (kShareDoubles_ppm + job.account.share_ppm) / kShareDoubles_ppm;
  const __int128 patience_us = static_cast<__int128>(view.outlook.mean_run.us) * kPatience;
  const __int128 aged = cost * patience_us / (patience_us + job.waited.us);
  const __int128 bound = kForever.us;
  return {static_cast<std::int64_t>(std::min(aged, bound)), job.running ? 0 : 1,
          job.submitted_at.us};
}

std::int32_t LearnedService::level(const core::JobView& job) const {
  return core::service_level(core::service_ms(job.attained, job.size_milli));
}

Span LearnedService::settled(const core::JobView& job) const {
  if (!job.running) return kForever;
  const Span end = core::service_level_end(job.level, job.size_milli);
  return end == kForever ? kForever : Span{end.us - job.attained.us};
}

}  // namespace dove::policies
