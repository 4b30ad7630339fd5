// TaskSocket: a Unix socket of a task, reached beneath the task's own directory and nowhere else.
#pragma once

#include <string>

#include "base/result.h"
#include "model/exec.h"

namespace dove::agent {

// The directory of an attempt's sockets, which its tasks know as DOVE_SOCKETS; only their user may
// enter it. The working directory where the attempt has one of its own, so that it needs no other.
std::string sockets_directory(const std::string& attempt_directory, const ExecSpec& exec);

struct TaskSockets {
  std::string attempt_directory;
  std::string directory;  // of the sockets, in the attempt's
};

// Connects to the socket that `path` names: from the directory of sockets, or absolutely within the
// attempt's directory. Links are not followed, no other file system is entered, and the socket is
// the owner's of the directory of sockets. The descriptor does not block; the caller owns it.
// Errors: no_such_socket, not_yours, forward_failed; kTimeout "busy": try again in a moment.
Result<int> connect_task_socket(const TaskSockets& sockets, const std::string& path);
// Whether it could be connected to; it is not.
Result<void> find_task_socket(const TaskSockets& sockets, const std::string& path);

}  // namespace dove::agent
