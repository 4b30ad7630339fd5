// TaskPlan and Runner: how one task of a placement is run, regardless of the means.
//
// A runner is given complete plans and reports how they ended. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/devices/device_allocator.h"
#include "agent/tasks/huge_page_limits.h"
#include "agent/tasks/task_io.h"
#include "base/result.h"
#include "containers/network.h"
#include "model/exec.h"
#include "model/job.h"

namespace dove::agent {

// What a task in a container sees of the node, besides its volumes.
struct SharedPath {
  std::string source;  // absolute
  std::string target;  // inside
  bool writable = false;
  bool is_ours = false;  // in the agent's data: made when it is missing
};

// A device or slice as its vendor names it.
struct GivenDevice {
  std::string vendor;
  std::string name;  // its UUID
  std::string file;  // in /dev; "": none
};

// How a container is brought up for a task; made by ContainerRunner (ShimConfig::pid_file).
struct ContainerLaunch {
  std::vector<std::string> argv;  // empty: the task is a plain process
  std::string pid_file;
};

struct TaskPlan : TaskIo {
  std::string path;     // the runner's file of the task, in its attempt's directory
  std::string mark;     // unique; found again in the environment of every process of the task
  std::string attempt;  // "": none; tasks of one share the memory that it was given
  std::string step;     // of the attempt, whose tasks here share step_bytes; "": it is of none
  std::string joins;    // mark of the task whose cgroup and container it shares; "": its own
  Rank rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // complete: nothing is inherited
  std::string workdir;
  std::vector<std::int32_t> cores;
  std::vector<std::int32_t> numa_nodes;  // of its memory; empty: all
  std::int64_t memory_bytes = 0;         // of all tasks of the attempt here; 0: unlimited
  std::int64_t step_bytes = 0;           // of all tasks of the step here; 0: as the attempt
  BytesByPage huge_pages;                // of the attempt; none: it can have none
  std::string linux_user;                // "" : the agent's own
  std::string volume_user;  // who has rights to volumes by name alone; "": by Linux user
  std::int64_t kill_grace_us = 0;
  std::int32_t umask = 022;
  ContainerSpec container;       // workdir and environment are those inside then
  std::set<std::string> yields;  // of the environment, to an image that sets them too
  std::vector<SharedPath> shared;
  std::string secrets;  // the attempt's folder of them (agent/secrets/task_secrets.h); "": none
  std::string authority_path;             // DOVE_CA_FILE on the node; "": none
  std::string script_path;                // argv[0] is this file of the node
  std::vector<std::string> device_nodes;  // in /dev, of the devices that the task was given
  std::vector<GivenDevice> devices;       // by which CDI may know them; none: `edits` names them
  bool pins_memory = false;               // for network cards: as much as it has
  DeviceEdits edits;                      // what plug-ins want; the process's part is done
  std::shared_ptr<const containers::Network> network;  // of the gang; null: the machine's
  std::string hostname;                                // inside; "": the node's name
  std::vector<PublishedPort> ports;                    // that lead to this task
  std::vector<std::string> warnings;                   // what of the job has no effect here
  ContainerLaunch launch;
};

struct TaskEnd {
  TaskExit exit;
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak_bytes = 0;
};

// Called from the loop, never from within a call on the runner. on_started at most once, on_ended
// exactly once and last: nothing of the task is left when it comes.
struct TaskCallbacks {
  std::function<void()> on_started;
  std::function<void(TaskEnd)> on_ended;
};

class RunningTask {
 public:
  // Destroying it lets the task run on, unobserved (the agent is ending).
  virtual ~RunningTask() = default;
  virtual void stop() = 0;              // SIGTERM, grace, SIGKILL; repeats do nothing
  virtual void signal(int number) = 0;  // to the task's processes
  virtual void end_input() = 0;         // see TaskIo::holds_input
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Brings what tasks with this image need before they are started; a file of the node is read as
  // `linux_user` ("": as the agent). `done` may be called at once.
  virtual void prepare(const std::string& image, const std::string& linux_user,
                       std::function<void(Result<void>)> done);
  // The image of a container that tasks of `attempt` (TaskPlan::attempt) name: of one that is there
  // its own. Errors: it is not there, or it is though it must be new.
  virtual Result<std::string> image_of(const std::string& attempt, const ContainerSpec& container);
  // Nothing of the attempt runs any more: what was kept for its tasks goes.
  virtual void attempt_over(const std::string& attempt);
  virtual Result<std::unique_ptr<RunningTask>> start(const TaskPlan& plan,
                                                     TaskCallbacks callbacks) = 0;
  // A task of a former life of this agent, known by its file. If it is over, or nothing is
  // known of it, on_ended says so soon.
  virtual Result<std::unique_ptr<RunningTask>> adopt(const TaskPlan& plan,
                                                     TaskCallbacks callbacks) = 0;
};

}  // namespace dove::agent
