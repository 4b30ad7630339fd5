// Dependencies: whether a waiting job may start for what it waits for, and whether it ever can.
//
// Levels, not edges: the answer follows from the State as it is, so it does not matter when or how
// often it is asked.
#pragma once

#include "core/state/state.h"

namespace dove::core {

enum class DependencyLevel { kMet, kWaiting, kNever };

struct DependencyVerdict {
  DependencyLevel level = DependencyLevel::kMet;
  Instant since;           // kMet: since when
  Instant until = kNever;  // kWaiting: time alone will meet it then
  JobId other;             // what is waited for, or what made it impossible
};

DependencyVerdict check_dependency(const State& state, const Job& job, const Dependency& one);

// All of the job's dependencies, or one of them where it says that one is enough.
DependencyVerdict check_dependencies(const State& state, const Job& job);

// When the job could be started, had there been room; kNever while something else must happen
// first. In the future: its begin time or a delay has not passed.
Instant startable_at(const State& state, const Job& job);

}  // namespace dove::core
