#include "policies/priority_lifo.h"

#include "policies/priority_fifo.h"

namespace dove::policies {

// Priorities stay within 31 bits, log positions within 40.
std::int64_t PriorityLifo::rank(const core::State& state, const core::Job& job) const {
  constexpr std::int64_t kPositions = std::int64_t{1} << 32;
  const auto position = static_cast<std::int64_t>(job.submitted_seq.value) % kPositions;
  return PriorityFifo().rank(state, job) * kPositions + position;
}

}  // namespace dove::policies
