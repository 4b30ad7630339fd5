// Jobs that are about to be looked at, asked of memory together.
//
// A million jobs lie far apart, so the first look at each is a miss, and what it points to one
// more. A pass that knows its next jobs lets those misses overlap. Nothing that is decided depends
// on it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "core/state/state.h"

namespace dove::core {

// Called before each job: every sixteenth time it asks for the next ones.
class ReadAhead {
 public:
  static constexpr std::size_t kJobs = 16;

  // The last attempt of each job comes with it, and with `placements` what that holds.
  ReadAhead(const State& state, bool placements) : state_(state), placements_(placements) {}

  // `next` gives the ids of the jobs that come now: kJobs of them, or all that are left.
  void before(auto next) {
    if (looked_++ % kJobs == 0) ask(next());
  }

 private:
  void ask(std::span<const JobId> ids) const;

  const State& state_;
  bool placements_;
  std::size_t looked_ = 0;
};

inline void ReadAhead::ask(std::span<const JobId> ids) const {
  if (ids.size() < 2) return;  // it is looked at right now
  std::array<const Job*, kJobs> jobs = {};
  std::size_t count = 0;
  for (const JobId id : ids.first(std::min(ids.size(), kJobs))) {
    const Job* job = state_.find_job(id);
    if (job == nullptr) continue;
    __builtin_prefetch(job);
    jobs[count++] = job;
  }
  const std::span<const Job* const> found(jobs.data(), count);
  for (const Job* job : found) {
    if (!job->attempts.empty()) __builtin_prefetch(&job->attempts.back());
  }
  if (!placements_) return;
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
