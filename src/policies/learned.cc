#include "policies/learned.h"

#include <algorithm>

namespace dove::policies {
namespace {

// A point of priority goes before any waiting: 139 years.
constexpr std::int64_t kPriority_ms = std::int64_t{1} << 42;
constexpr std::int64_t kPriorities_max = 2'000'000;

}  // namespace

std::int64_t Learned::rank(const core::State& state, const core::Job& job) const {
  const std::int64_t priority =
      std::clamp(PriorityFifo::rank(state, job), -kPriorities_max, kPriorities_max);
  return priority * kPriority_ms - job.learned_key / 1000;
}

}  // namespace dove::policies
