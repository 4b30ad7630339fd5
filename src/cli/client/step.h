// A step: a program started inside the allocation of a job, mostly the one that this process
// belongs to.
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

struct StepWanted {
  std::string name;  // "" : the program's
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string workdir;
  std::string sizes = "{}";  // its tasks, nodes, cores, ... as the API's Step has them: JSON
  std::int64_t time_limit_s = 0;
  std::string stdout_path, stderr_path;  // "" : here
  // "none"; "stream": this process's own; or a file on the nodes.
  std::string stdin_text = "none";
  std::int64_t stdin_rank = -1;  // it goes to this task alone; -1: to all
  bool label = false;
  bool quiet = false;  // does not tell that it waits
  bool kill_on_bad_exit = false;
  std::int64_t wait_s = 0;  // from the end of its first task to that of the others; 0: any time
  std::int64_t stdout_rank = -1;  // what is printed here is this task's alone; -1: all tasks'
  std::int64_t stderr_rank = -1;
};

// The error where --output or --error of a step with `tasks` tasks names none of them: everything
// that the tasks print would be lost silently.
Error no_such_task(const std::string& option, const std::string& given, std::int64_t tasks);

// Whether this process runs inside a job, and of which.
bool inside_job();
// The job's id, "" outside.
std::string current_job();
// The server that the job's node named and the job's own token.
Result<Endpoint> job_endpoint();

// Whose allocation a step is to run in, and how to prove that one may.
struct StepPlace {
  std::string job;
  Endpoint endpoint;
};
// This process's own job.
Result<StepPlace> own_place();

// Starts the step, and waits as long as other steps hold what it asks for. Tries again for up to
// `patience_s` while its nodes cannot be reached or its job is not known to run, copies what the
// tasks print to stdout and stderr, and gives the highest exit code. A restart of the server
// meanwhile is waited for. While it runs SIGINT and SIGTERM go to the step's tasks; a second one
// gives up, which ends the step. `name` begins the messages about tasks that failed.
Result<int> run_step(const std::string& name, const StepWanted& wanted, StepPlace place,
                     int patience_s);

}  // namespace dove::cli
