// Jobs that are about to be looked at, asked of memory together.
//
// A million jobs lie far apart, so the first look at each is a miss, and what it points to one
// more. A pass that knows its next jobs lets those misses overlap. Nothing that is decided depends
// on it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/state/state.h"

namespace dove::core {

constexpr std::size_t kRead_ahead = 16;

// The jobs themselves; with `placements`, also what their last attempts hold. At most kRead_ahead
// of them.
inline void read_ahead(const State& state, std::span<const JobId> ids, bool placements) {
  std::array<const Job*, kRead_ahead> jobs = {};
  std::size_t count = 0;
  for (const JobId id : ids.first(std::min(ids.size(), kRead_ahead))) {
    const Job* job = state.find_job(id);
    if (job == nullptr) continue;
    __builtin_prefetch(job);
    jobs[count++] = job;
  }
  const std::span<const Job* const> found(jobs.data(), count);
  for (const Job* job : found) {
    if (!job->attempts.empty()) __builtin_prefetch(&job->attempts.back());
  }
  if (!placements) return;
  // Level by level: what one asks for has come when the next reads it.
  const auto each_first = [&](auto visit) {
    for (const Job* job : found) {
      if (job->attempts.empty() || job->attempts.back().placements.empty()) continue;
      visit(job->attempts.back().placements.front());
    }
  };
  each_first([](const PlacementRecord& record) { __builtin_prefetch(&record); });
  each_first([](const PlacementRecord& record) { __builtin_prefetch(&*record.placement); });
  each_first([](const PlacementRecord& record) {
    if (!record.placement->devices.empty()) __builtin_prefetch(record.placement->devices.data());
  });
}

}  // namespace dove::core
