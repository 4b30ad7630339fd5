// What an ActiveAttempt keeps about each of its tasks and steps. For its own files alone.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include "agent/attempts/active_attempt.h"

namespace dove::agent {

struct ActiveAttempt::Slot {
  TaskPlan plan;
  std::unique_ptr<RunningTask> task;
  bool started = false;
  bool ended = false;
};

struct ActiveAttempt::Step {
  StepOrder order;
  std::vector<std::unique_ptr<Slot>> tasks;
  std::vector<TaskExit> exits;
  std::size_t open = 0;
  std::set<Rank> starting;
  std::unique_ptr<StepInput> input;
  bool waits = true;     // for what it needs, and for its image
  bool stopped = false;  // before they were there
};

}  // namespace dove::agent
