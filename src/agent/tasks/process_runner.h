// ProcessRunner: tasks as plain processes, each under a dove-shim of its own.
//
// All shims share one channel and one lease. A killed shim is noticed by its pidfd: the processes
// that it left are swept by the task's mark before the task's end is reported. Processes that a
// shim could not end are swept likewise. An end is reported only when a look at the machine finds
// nothing of the task any more, however long that takes; the loop never waits for it. Loop thread
// only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/tasks/cgroup.h"
#include "agent/tasks/shim_handle.h"
#include "agent/tasks/shim_status.h"
#include "agent/tasks/task.h"
#include "base/result.h"
#include "wire/loop.h"

namespace dove::agent {

struct ProcessRunnerOptions {
  std::string shim_path;   // the dove-shim executable
  std::string data_dir;    // holds `channel` and `lease`
  bool pins_cores = true;  // false: the inventory's cores are emulated
  // The agent's group in the hierarchies that it may write to; each task gets one below it, with
  // its limits, that nothing of the task escapes. "" : no cgroups.
  std::string cgroup = {};
  bool limits_processes = true;    // false: only containers get cgroups
  std::int64_t processes_max = 0;  // of a task, threads included; 0: unlimited
  // Device files that all tasks may open besides their own and the standard ones, with * and ?;
  // unset: all that there are.
  std::optional<std::vector<std::string>> open_devices = {};
};

class ProcessRunner : public Runner {
 public:
  static Result<std::unique_ptr<ProcessRunner>> make(wire::Loop& loop,
                                                     ProcessRunnerOptions options);
  ~ProcessRunner() override;

  Result<std::unique_ptr<RunningTask>> start(const TaskPlan& plan,
                                             TaskCallbacks callbacks) override;
  // Where an OCI runtime finds the task's cgroup, which start() makes (OCI's cgroupsPath); "" where
  // there are none.
  std::string cgroup_path(const TaskPlan& plan);
  void clear_cgroup(const TaskPlan& plan);  // what a runtime left of it
  bool only_v2();  // all cgroups of the machine that can be used are version 2
  const ProcessRunnerOptions& options() const { return options_; }
  // "": memory, cores and the number of processes are enforced. Else what is not, and why.
  const std::string& not_enforced() const { return not_enforced_; }
  // Whether processes are held to their memory. Containers have cgroups wherever the machine has.
  bool limits_memory() const;
  // Never fails: what cannot be read is swept.
  Result<std::unique_ptr<RunningTask>> adopt(const TaskPlan& plan,
                                             TaskCallbacks callbacks) override;

 private:
  struct Watched;  // a shim, until it has been collected
  class Task;

  ProcessRunner(wire::Loop& loop, ProcessRunnerOptions options, ShimChannel channel);
  void on_channel();
  void on_exit(std::uint64_t tag);
  void watch(const std::shared_ptr<Watched>& watched, ShimHandle handle);
  void take_up(const std::shared_ptr<Watched>& watched);
  void later(const std::shared_ptr<Watched>& watched, int wait_ms,
             void (ProcessRunner::*what)(const std::shared_ptr<Watched>&));
  void tell_started(const std::shared_ptr<Watched>& watched);
  void tell_end(const std::shared_ptr<Watched>& watched, const ShimStatus& status);
  void tell_swept(const std::shared_ptr<Watched>& watched);
  void tell_over(const std::shared_ptr<Watched>& watched);
  Result<ShimConfig> config_of(const TaskPlan& plan) const;
  CgroupRoot* cgroups_of(const TaskPlan& plan);
  std::size_t levels_in_use(const CgroupName& name) const;
  static void join(const CgroupRoot& cgroups, const TaskPlan& plan, ShimConfig& config);
  void detect_cgroups();
  TaskEnd end_of(const Watched& watched, const ShimStatus& status) const;

  wire::Loop& loop_;
  ProcessRunnerOptions options_;
  ShimChannel channel_;
  std::optional<CgroupRoot> cgroups_;
  bool detected_ = false;
  std::string not_enforced_;
  wire::FdWatch channel_watch_;
  std::map<std::uint64_t, std::shared_ptr<Watched>> shims_;  // by tag
};

}  // namespace dove::agent
