// TaskPort: a TCP port on which a task listens, found so that nobody is connected to another job's
// port.
//
// A port belongs to the task if a process of the task holds the listening socket according to
// /proc. The network is that of this process: the machine's or a container's. Looking reads /proc
// of processes that may hang, so it blocks and runs on a side thread. Opening is for the loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/forward/listeners.h"
#include "base/result.h"

namespace dove::agent {

struct TaskPort {
  std::uint16_t port = 0;
  pid_t process = 0;                     // of the task, in the network
  std::uint64_t network = 0;             // which: the namespace's inode
  std::set<std::uint64_t> listeners;     // all that hold the port there
  std::vector<SocketAddress> addresses;  // where it is reached, to be tried in this order
};

// REQUIRES: a side thread. `marks`: of the task's processes (process_sweep.h). Error kNotFound
// "nothing_listens" names the ports on which the task listens.
Result<TaskPort> find_task_port(const std::vector<std::string>& marks, std::uint16_t port);

// REQUIRES: a side thread. Whether those hold the port that held it when it was found, so that who
// connected in between was led to the task.
bool is_unchanged(const TaskPort& port);

// A socket that does not block, made in the port's network, for addresses of that family. The
// caller owns it.
Result<int> open_in_network(const TaskPort& port, int family);

}  // namespace dove::agent
