#include "policies/multifactor.h"

#include <algorithm>

#include "core/queue/points.h"
#include "core/state/past/past_use.h"

namespace dove::policies {
namespace {

constexpr std::int64_t kWhole = 1'000'000'000;  // of the cluster: past use is in 10^9ths of it
constexpr std::int64_t kMost_milli = 1'000'000'000'000;
// Beyond it ranks are equal. It leaves room for the share that is taken off.
constexpr std::int64_t kMost_parts = 8'500'000'000'000'000'000;

std::int64_t size_milli(const Request& request) {
  return std::int64_t{request.gpus} * kWholeDevice_milli + request.share_milli +
         std::int64_t{request.cores} * 100;
}

}  // namespace

std::int64_t Multifactor::rank(const core::State& state, const core::Job& job) const {
  const MultifactorWeights& weights = state.settings.multifactor;
  std::int64_t milli = 0;
  for (const TaskGroup& group : job.spec->groups) {
    milli += group.tasks * size_milli(group.per_task) + size_milli(group.per_node);
  }
  milli = std::min(milli, kMost_milli);
  const auto queue = state.queues.find(job.spec->queue);
  const std::int64_t of_queue = queue == state.queues.end() ? 0 : queue->second.priority;
  __int128 parts = static_cast<__int128>(job.priority) * weights.priority * core::kPoint;
  parts += static_cast<__int128>(of_queue) * weights.queue_priority * core::kPoint;
  parts += static_cast<__int128>(milli) * weights.size * (core::kPoint / kWholeDevice_milli);
  parts -= core::age_parts(weights, job.submitted_at);
  return static_cast<std::int64_t>(std::clamp<__int128>(parts, -kMost_parts, kMost_parts));
}

std::int64_t Multifactor::share(const core::ShareView& view) const {
  core::Usage all;
  all.cores = static_cast<std::int32_t>(view.total->cores);
  all.gpus_milli = static_cast<std::int32_t>(view.total->gpus_milli);
  all.memory_bytes = view.total->memory_bytes;
  const std::int64_t part =
      core::past_part(view.past_milli_ms, core::use_rate_milli(all), view.half_life);
  const __int128 parts = static_cast<__int128>(part) * view.fair_share * core::kPoint / kWhole;
  return static_cast<std::int64_t>(parts) / view.weight;
}

}  // namespace dove::policies
