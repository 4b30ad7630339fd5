#include "policies/multifactor.h"

#include <algorithm>

#include "core/state/past_use.h"
#include "policies/priority_fifo.h"

namespace dove::policies {
namespace {

constexpr std::int64_t kMinute_us = 60'000'000;
constexpr std::int64_t kPercent = 10'000'000;  // in 10^9ths
constexpr std::int64_t kMost_milli = 1'000'000'000'000;

std::int64_t size_milli(const Request& request) {
  return std::int64_t{request.gpus} * kWholeDevice_milli + request.share_milli +
         std::int64_t{request.cores} * 100;
}

}  // namespace

std::int64_t Multifactor::rank(const core::State& state, const core::Job& job) const {
  std::int64_t milli = 0;
  for (const TaskGroup& group : job.spec->groups) {
    milli += group.tasks * size_milli(group.per_task) + size_milli(group.per_node);
  }
  const std::int64_t points = PriorityFifo().rank(state, job) * kPriority_minutes;
  milli = std::min(milli, kMost_milli);
  return points * kMinute_us + milli * (kMinute_us / 1000) - job.submitted_at.us;
}

std::int64_t Multifactor::share(const core::ShareView& view) const {
  core::Usage all;
  all.cores = static_cast<std::int32_t>(view.total->cores);
  all.gpus_milli = static_cast<std::int32_t>(view.total->gpus_milli);
  all.memory_bytes = view.total->memory_bytes;
  const std::int64_t part =
      core::past_part(view.past_milli_ms, core::use_rate_milli(all), view.half_life);
  return part * (kPercent_minutes * kMinute_us / kPercent) / view.weight;
}

}  // namespace dove::policies
