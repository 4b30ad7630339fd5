// What an attempt holds, and the count of what a job held before it is forgotten.
#pragma once

#include <cstdint>

#include "core/state/past/forgotten.h"
#include "core/state/state.h"

namespace dove::core {

constexpr std::int64_t kDay_us = 24LL * 3600 * 1'000'000;  // ForgottenKey::day counts these

// What an attempt holds while it has its places.
struct AllocatedAmounts {
  std::int64_t gpus_milli = 0;
  std::int64_t cores = 0;
};
AllocatedAmounts allocated_amounts(const Attempt& attempt);

// Adds what the job held to State::forgotten. It is to be forgotten in the same record.
void count_forgotten(State& state, const Job& job);

}  // namespace dove::core
