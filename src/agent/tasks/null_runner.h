// NullRunner: tasks that are timers, for tests of scale. Nothing is executed.
//
// A task lasts DOVE_NULL_RUN_MS milliseconds of its environment (0 when unset) and ends with exit
// code DOVE_NULL_EXIT_CODE (0 when unset). Nothing survives the agent.
#pragma once

#include "agent/tasks/task.h"
#include "wire/loop.h"

namespace dove::agent {

class NullRunner : public Runner {
 public:
  explicit NullRunner(wire::Loop& loop) : loop_(loop) {}
  Result<std::unique_ptr<RunningTask>> start(const TaskPlan& plan,
                                             TaskCallbacks callbacks) override;
  Result<std::unique_ptr<RunningTask>> adopt(const TaskPlan& plan,
                                             TaskCallbacks callbacks) override;

 private:
  wire::Loop& loop_;
};

}  // namespace dove::agent
