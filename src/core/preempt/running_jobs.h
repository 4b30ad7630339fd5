// RunningJobs: the jobs that hold places, and those of them that matter for preemption.
#pragma once

#include <span>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

struct RunningJobs {
  // Each ascending, as the indexes have them.
  std::vector<JobId> all;
  std::vector<JobId> preemptible;  // not stopping, and their owners allow it
  std::vector<JobId> stopping;

  // These jobs have changed. `touched` ascends, each once.
  void update(const State& state, std::span<const JobId> touched);
};

RunningJobs running_jobs(const State& state);

}  // namespace dove::core
