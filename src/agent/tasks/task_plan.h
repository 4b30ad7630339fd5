// From an order to task plans: what is run, as whom, where, with which environment; and which tasks
// an earlier process of the agent started.
#pragma once

#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/tasks/environment.h"
#include "agent/tasks/task.h"
#include "base/result.h"

namespace dove::agent {

struct PlanContext {
  const AgentFacts& facts;
  const LaunchOrder& order;
  const std::string& attempt_directory;
  bool mapped_users = false;
  bool checks_files = true;  // false: nothing is run, so nobody needs to exist
  std::int64_t rotate_bytes = 0;
};

// Errors (kInvalid) say why the task cannot be run here: no Linux user, no image.
Result<TaskPlan> plan_batch_script(const PlanContext& context);
Result<TaskPlan> plan_main_task(const PlanContext& context, const TaskGrant& grant);
// The order's placement has changed: gives the plan of a task of the attempt itself the cores, and
// the memory beside them, that it has now.
void place_again(const PlanContext& context, TaskPlan& plan);
Result<TaskPlan> plan_step_task(const PlanContext& context, const StepOrder& step,
                                const TaskGrant& grant);

// What a command finds on a node of a batch job where the script does not run: no names of its own,
// no files.
Result<TaskPlan> plan_batch_world(const PlanContext& context, const TaskGrant& grant);

// "node1.7.1": whose memory its tasks share.
std::string attempt_mark(const std::string& node, AttemptKey key);
std::string attempt_mark(const PlanContext& context);

// The FIFO of a task that reads what the step's client sends; it is there until the input ended.
std::string step_input_path(const std::string& attempt_directory, std::int32_t step, Rank rank);

// A task that was started in the attempt's directory once: what adopting it needs.
struct TaskOnDisk {
  TaskPlan plan;           // path, mark and rank alone
  std::int32_t step = -1;  // < 0: a main task
};
std::vector<TaskOnDisk> read_tasks(const PlanContext& context);

}  // namespace dove::agent
