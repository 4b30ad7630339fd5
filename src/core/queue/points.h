// Points: the sum that the order multifactor computes, and its terms for explanations.
//
// Ranks and shares of that order are fractions of a point. All jobs of a cluster age at the same
// rate, so a rank is computed from the instant of submission and does not change while the job
// waits.
#pragma once

#include <cstdint>

#include "model/declared.h"
#include "model/time.h"

namespace dove::core {

// Parts of a point. With the weights of a new cluster each is a microsecond of waiting.
constexpr std::int64_t kPoint = 60'000'000;

// The points that waiting from the epoch until `at` gains, in parts of a point; rounded down.
// REQUIRES: age_span > 0, at >= 0.
inline std::int64_t age_parts(const MultifactorWeights& weights, Instant at) {
  const std::int64_t parts = weights.age * kPoint;
  if (parts % weights.age_span.us == 0) return at.us * (parts / weights.age_span.us);
  return static_cast<std::int64_t>(static_cast<__int128>(at.us) * parts / weights.age_span.us);
}

}  // namespace dove::core
