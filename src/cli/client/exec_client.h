// ExecClient: runs a command inside a running task as if it ran here: with our streams, our
// terminal and its exit code as ours.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/endpoint.h"

namespace dove::cli {

struct ExecWanted {
  std::string job;
  std::string task;  // "": rank 0; "3"; "worker/1"
  std::string node;  // "": that of the task; else the first task there
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // over the task's
  std::string workdir;                             // "": the task's
  bool terminal = false;
  bool input = false;  // what we are given on stdin is the command's
};

// With a terminal and input, ours is raw from the command's start to its end. Without, SIGINT and
// SIGQUIT go to the command; a second one leaves, as SIGTERM and SIGHUP do at once: who leaves ends
// the command. The result is the exit code (128 + signal), or why there is none. `name` begins
// messages.
Result<int> run_exec(const std::string& name, const Endpoint& endpoint, const ExecWanted& wanted);

}  // namespace dove::cli
