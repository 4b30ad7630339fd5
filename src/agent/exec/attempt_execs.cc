// ActiveAttempt's commands of `dove exec`.
#include <algorithm>

#include "agent/attempts/attempt_slots.h"

namespace dove::agent {

void ActiveAttempt::exec(const ExecOrder& order) { execs_.open(order, exec_target(order)); }

Result<TaskPlan> ActiveAttempt::exec_target(const ExecOrder& order) {
  const Error not_running{ErrorKind::kConflict, "not_running",
                          "the task is not running, so there is nothing to run a command in", ""};
  if (stage_ != Stage::kStarted || stopping_ || !context_.keeps_records) return not_running;
  for (const auto& slot : tasks_) {
    if (slot->plan.rank != order.rank) continue;
    return slot->task != nullptr && slot->started ? Result<TaskPlan>(slot->plan) : not_running;
  }
  const auto& grants = order_.placement.tasks;
  const auto grant = std::find_if(grants.begin(), grants.end(),
                                  [&](const TaskGrant& each) { return each.rank == order.rank; });
  if (order_.launch != LaunchMode::kBatch || grant == grants.end()) return not_running;
  return plan_batch_world(plan_context(/*checks_files=*/false), *grant);
}

void ActiveAttempt::adopt_execs() {
  for (const std::string& path : exec_files(directory_)) {
    TaskPlan plan;
    plan.path = path;
    plan.attempt = attempt_mark(plan_context(/*checks_files=*/false));
    execs_.end_former(std::move(plan));
  }
}

}  // namespace dove::agent
