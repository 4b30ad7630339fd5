// From an order to task plans and files: what is run, as whom, where, with which environment; and
// what of an attempt is on disk, so that a restarted agent goes on where the former one was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/order.h"
#include "agent/report.h"
#include "agent/task.h"
#include "base/result.h"

namespace dove::agent {

struct PlanContext {
  const AgentFacts& facts;
  const LaunchOrder& order;
  const std::string& attempt_directory;
  bool mapped_users = false;
  bool checks_files = true;  // false: nothing is run, so nothing needs to exist
  std::int64_t rotate_bytes = 0;
};

// Errors (kInvalid) say why the task cannot be run here: no Linux user, no such directory.
Result<TaskPlan> plan_batch_script(const PlanContext& context);
Result<TaskPlan> plan_main_task(const PlanContext& context, const TaskGrant& grant);
Result<TaskPlan> plan_step_task(const PlanContext& context, const StepOrder& step,
                                const TaskGrant& grant);

// Makes the attempt's directory with its order, script and hostfile. What tasks write there belongs
// to `linux_user`; "": to the agent's own.
Result<void> write_attempt(const std::string& directory, const LaunchOrder& order,
                           const std::string& order_text, const std::string& linux_user);

struct StageOnDisk {
  bool started = false;
  std::optional<Report> ended;
};
void write_stage(const std::string& directory, const std::string& stage);
void write_ended(const std::string& directory, const Report& report);
StageOnDisk read_stage(const std::string& directory);

// A task that was started in the attempt's directory once: what adopting it needs.
struct TaskOnDisk {
  TaskPlan plan;           // directory, mark and rank alone
  std::int32_t step = -1;  // < 0: a main task
};
std::vector<TaskOnDisk> read_tasks(const PlanContext& context);

// "7.1" as a key; nothing if it is not one.
std::optional<AttemptKey> read_key(const std::string& text);

}  // namespace dove::agent
