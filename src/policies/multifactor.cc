#include "policies/multifactor.h"

#include "policies/priority_fifo.h"

namespace dove::policies {

std::int64_t Multifactor::rank(const core::State& state, const core::Job& job) const {
  constexpr std::int64_t kMinute_us = 60'000'000;
  std::int64_t devices = 0;
  for (const TaskGroup& group : job.spec->groups) {
    devices += std::int64_t{group.tasks} * group.per_task.gpus;
  }
  const std::int64_t points = PriorityFifo().rank(state, job) * kPriority_minutes + devices;
  return points * kMinute_us - job.submitted_at.us;
}

}  // namespace dove::policies
