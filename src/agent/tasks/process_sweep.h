// Sweeping: ending the processes of a task whose shim was killed, before the task is reported as
// over.
//
// A process belongs to the task if its environment has the task's mark, or if it is in the session
// or below a process that belongs to it. A process that has cleared its environment, left the
// session and lost its parent escapes; only a cgroup (agent/tasks/cgroup.h) finds it. Blocks the
// calling thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace dove::agent {

struct SweepTarget {
  std::string mark;   // ShimConfig::mark
  pid_t session = 0;  // the task's pid as `started` says it; 0: not known
};

struct SweepResult {
  int found = 0;      // processes that were sent SIGKILL
  bool clean = true;  // false: some still run at the limit, or /proc cannot be read
};

// The processes of the tasks with these marks, at one look. One that is in the middle of execve(2)
// may be missing.
std::vector<pid_t> processes_of(const std::vector<std::string>& marks);

// Ends all processes of all `targets` (one look at /proc serves all), and returns when none is
// left, at the latest after `limit`. A process that shows no environment may be in the middle of
// execve(2), and is looked at again for 200 ms at most.
SweepResult sweep(const std::vector<SweepTarget>& targets, std::chrono::milliseconds limit);

// For one task whose session is not known, within half a second; repeat it if it is not clean.
SweepResult sweep(const std::string& mark);

}  // namespace dove::agent
