// Execs: the commands of `dove exec` in one attempt's tasks on this node.
//
// They are not part of the job: neither their output nor their exit is kept. The attempt, however,
// is not over before they are. A command that an earlier process of this agent began has lost its
// connection and is ended. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/exec/exec_session.h"

namespace dove::agent {

class Execs {
 public:
  // `settled`: called in a turn of its own whenever none is left.
  Execs(ExecHost host, std::string directory, std::function<void()> settled);
  ~Execs();

  // Runs the order's command as `target` runs, or tells why there is none.
  void open(const ExecOrder& order, Result<TaskPlan> target);
  // Ends a command of a previous run of the agent, known by its file.
  void end_former(TaskPlan plan);
  // Those in the task, or in all tasks.
  void end(Rank rank, const std::string& why);
  void end_all(const std::string& why);
  // The ids of those in the task.
  std::vector<std::string> ids(Rank rank) const;
  bool empty() const { return sessions_.empty() && former_.empty(); }

 private:
  void over(const std::string& id);

  const ExecHost host_;
  const std::string directory_;
  const std::function<void()> settled_;
  std::map<std::string, std::unique_ptr<ExecSession>> sessions_;  // by id
  std::map<std::string, std::unique_ptr<RunningTask>> former_;    // by the file's path
};

// What marks the processes of a command.
std::string exec_mark(const std::string& attempt, const std::string& id);
// A command's plan: as its task's, joined to it, with names of its own.
TaskPlan exec_plan(const ExecOrder& order, TaskPlan target, const std::string& directory);
// Files of commands in an attempt's directory.
std::vector<std::string> exec_files(const std::string& directory);

}  // namespace dove::agent
