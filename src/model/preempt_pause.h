// How long a job that was preempted is left alone once more: a job of ours, and one of an executor
// that makes room for ours.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/time.h"

namespace dove {

// One minute, doubled with each preemption up to 64: an hour apart, a long job still gets on. None
// before the first.
constexpr Span pause_after(std::int64_t preemptions) {
  constexpr std::int64_t kDoublings_max = 6;
  if (preemptions <= 0) return Span{};
  return Span{seconds(60).us << std::min(preemptions - 1, kDoublings_max)};
}

}  // namespace dove
