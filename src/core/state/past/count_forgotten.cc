#include "core/state/past/count_forgotten.h"

#include <algorithm>

namespace dove::core {
namespace {

std::int32_t day_of(std::int64_t at_us) { return static_cast<std::int32_t>(at_us / kDay_us); }

}  // namespace

AllocatedAmounts allocated_amounts(const Attempt& attempt) {
  AllocatedAmounts held;
  for (const PlacementRecord& record : attempt.placements) {
    for (const DeviceGrant& grant : record.placement->devices) held.gpus_milli += grant.share_milli;
    held.cores += static_cast<std::int64_t>(record.placement->cores.size());
  }
  return held;
}

void count_forgotten(State& state, const Job& job) {
  Forgotten& forgotten = state.forgotten;
  if (forgotten.jobs++ == 0) forgotten.since = state.now;
  const std::int32_t oldest = day_of(state.now.us) - kForgotten_days;
  ForgottenKey key{0, job.spec->user, job.spec->project, job.spec->queue};
  ForgottenUse* last = nullptr;
  for (const Attempt& attempt : job.attempts) {
    const AllocatedAmounts held = allocated_amounts(attempt);
    std::int64_t at_us = attempt.allocated_at.us;
    while (at_us < attempt.ended_at.us) {
      key.day = day_of(at_us);
      const std::int64_t until_us = std::min(attempt.ended_at.us, (key.day + 1) * kDay_us);
      if (key.day >= oldest) {
        last = &forgotten.use[key];
        last->gpu_milli_ms += held.gpus_milli * ((until_us - at_us) / 1000);
        last->core_ms += held.cores * ((until_us - at_us) / 1000);
      }
      at_us = until_us;
    }
  }
  if (last != nullptr) ++last->jobs;
  // By day, so the oldest come first.
  while (!forgotten.use.empty() && forgotten.use.begin()->first.day < oldest) {
    forgotten.use.erase(forgotten.use.begin());
  }
}

}  // namespace dove::core
