// ActiveAttempt's connections of `dove port-forward`.
#include <algorithm>

#include "agent/attempts/attempt_slots.h"

namespace dove::agent {

void ActiveAttempt::forward(const ForwardOrder& order) {
  forwards_.open(order, forward_target(order.rank));
}

// A batch script's ports are those of all that it runs: its steps', too.
Result<ForwardTarget> ActiveAttempt::forward_target(Rank rank) const {
  const Error not_running{ErrorKind::kConflict, "not_running",
                          "the task is not running, so there is nothing to connect to", ""};
  if (stage_ != Stage::kStarted || !context_.keeps_records) return not_running;
  ForwardTarget target{{}, {directory_, sockets_directory(directory_, order_.exec)}};
  bool runs = false;
  for (const auto& slot : tasks_) {
    if (slot->plan.rank != rank || !slot->started || slot->ended) continue;
    runs = true;
    target.marks.push_back(slot->plan.mark);
    for (const std::string& id : execs_.ids(rank)) {
      target.marks.push_back(exec_mark(slot->plan.attempt, id));
    }
  }
  if (order_.launch != LaunchMode::kBatch) {
    return runs ? Result<ForwardTarget>(std::move(target)) : not_running;
  }
  const auto& grants = order_.placement.tasks;
  runs = runs || std::any_of(grants.begin(), grants.end(),
                             [&](const TaskGrant& grant) { return grant.rank == rank; });
  if (!runs) return not_running;
  for (const auto& [number, step] : steps_) {
    for (const auto& slot : step->tasks) target.marks.push_back(slot->plan.mark);
  }
  return target;
}

}  // namespace dove::agent
