#include "policies/least_attained.h"

#include <algorithm>

namespace dove::policies {
namespace {

// More than that nobody waits: ranks stay far from their ends.
constexpr std::int64_t kMost_us = std::int64_t{100} * 366 * 86'400 * 1'000'000;

// What its last attempt held, a core as a tenth of a GPU.
std::int64_t width_milli(const core::Attempt& attempt) {
  std::int64_t milli = 0;
  for (const core::PlacementRecord& record : attempt.placements) {
    milli += static_cast<std::int64_t>(record.placement->cores.size()) * 100;
    for (const DeviceGrant& grant : record.placement->devices) milli += grant.share_milli;
  }
  return milli;
}

}  // namespace

std::int64_t LeastAttained::rank(const core::State&, const core::Job& job) const {
  if (job.attempts.empty()) return -job.submitted_at.us;
  const core::Attempt& last = job.attempts.back();
  const __int128 had = static_cast<__int128>(job.ran_before.us) * width_milli(last) / 1000;
  const auto attained = static_cast<std::int64_t>(std::min<__int128>(had, kMost_us));
  return -(last.ended_at.us + attained);
}

}  // namespace dove::policies
