// ShimConfig: everything that dove-shim is told about its one task.
//
// Plain values, written once into the task's file (shim/format.h) and read by the shim alone. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/tasks/task_io.h"
#include "base/result.h"

namespace dove::agent {

struct ShimRlimit {
  int resource = 0;        // RLIMIT_…
  std::int64_t soft = -1;  // -1: unlimited
  std::int64_t hard = -1;
};

struct ShimConfig : TaskIo {
  std::vector<std::string> argv;  // argv[0] without a slash is searched in the environment's PATH
  std::vector<std::pair<std::string, std::string>> environment;  // complete: nothing is inherited
  // A file of NAME=VALUE, each with a NUL behind it, that the shim adds to the environment; this
  // one is not written down anywhere else. "": none.
  std::string secrets_path;
  std::string mark;  // becomes DOVE_TASK_MARK of the environment; see process_sweep.h
  std::string workdir = "/";

  // The task's user; only root can ask for another one than its own. -1: the agent's own.
  std::int64_t uid = -1;
  std::int64_t gid = -1;
  std::vector<std::uint32_t> groups;
  std::int32_t umask = 022;

  std::int32_t rotate_keep = 1;  // see rotate_bytes

  std::vector<std::int32_t> cpus;   // empty: no affinity; if none exists here, the start fails
  std::vector<ShimRlimit> rlimits;  // RLIMIT_CORE is 0 unless given
  std::int64_t kill_grace_ms = 30'000;

  // The fence: at the lease's deadline (agent/session/lease.h) nothing of the task runs any more;
  // SIGTERM comes fence_grace_ms earlier, at most a quarter of what the lease was good for. "": no
  // fence.
  std::string lease_path;
  std::int64_t fence_grace_ms = 1'000;
  std::int64_t lease_allowance_ms = 10'000;  // how long a lease may be missing at the start

  std::vector<std::string> cgroup_procs;  // the task joins these before it is executed
  std::string cgroup_kill;                // v2 cgroup.kill; ""
  std::string cgroup_oom;                 // a file with a line `oom_kill N`; ""

  // Not "": argv brings the task up in a container (shim/container.h).
  std::string pid_file;
  std::string program;
  bool joins = false;  // the container is another task's

  bool hold = false;  // prepare, then wait for ShimHandle::go()
};

// The bytes of the task's file before it starts. Errors (kInvalid): a value with a NUL, no argv, a
// path not absolute.
Result<std::string> shim_config_bytes(const ShimConfig& config);

}  // namespace dove::agent
