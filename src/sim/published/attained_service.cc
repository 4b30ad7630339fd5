#include "sim/published/attained_service.h"

#include <array>

namespace dove::sim {
namespace {

constexpr std::array<std::int64_t, 2> kLevelEnds_s = {3250, 7200};

bool is_last(std::int32_t level) { return level >= static_cast<std::int32_t>(kLevelEnds_s.size()); }

// Whole seconds of running after which a gang of this size leaves the level.
Span level_end(std::int32_t level, std::int64_t size_milli) {
  const std::int64_t end = kLevelEnds_s[static_cast<std::size_t>(level)] * 1000;
  return seconds((end + size_milli - 1) / size_milli);
}

}  // namespace

OrderKey AttainedService::key(const JobView& job, const OrderView& view) const {
  const bool joined_now = job.level_since == view.now;
  const std::int64_t turn = joined_now ? 2 : job.running ? 0 : 1;
  return {job.level, turn, joined_now ? job.sequence : 0};
}

bool AttainedService::promotes(const JobView& job) const {
  return promote_after_ > 0 && !job.running && job.level > 0 &&
         job.paused.us / promote_after_ >= job.attained.us;
}

std::int32_t AttainedService::level(const JobView& job) const {
  if (promotes(job)) return 0;
  if (is_last(job.level)) return job.level;
  const __int128 had = static_cast<__int128>(job.attained.us) * job.size_milli;
  const __int128 end =
      static_cast<__int128>(kLevelEnds_s[static_cast<std::size_t>(job.level)]) * 1'000'000'000;
  return had >= end ? job.level + 1 : job.level;
}

Span AttainedService::settled(const JobView& job) const {
  if (job.running) {
    if (is_last(job.level)) return kForever;
    return Span{level_end(job.level, job.size_milli).us - job.attained.us};
  }
  if (promote_after_ == 0 || job.level == 0) return kForever;
  return Span{job.attained.us * promote_after_ - job.paused.us};
}

}  // namespace dove::sim
