// Steps: programs that run inside a job's allocation (srun, Open MPI's launch agent), as their
// client asks for them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job.h"

namespace dove::backends {

struct StepRequest {
  std::int32_t tasks = 0;             // 0: one for each slot of the attempt on the nodes taken
  std::int32_t nodes = 0;             // 0: all of the attempt, as far as there are tasks
  std::int32_t tasks_per_node = 0;    // 0: as many as fit
  std::int32_t cores_per_task = 0;    // 0: as the job's tasks
  std::vector<std::string> nodelist;  // non-empty: only these, in the attempt's order
  bool overcommit = false;            // more tasks than cores
};

struct StepProgram {
  std::string name;  // "" : the program's
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string workdir;
  std::string stdout_path;
  std::string stderr_path;
  std::string stdin_text;        // "none", "stream" (from the client), or a path
  std::int32_t stdin_rank = -1;  // it goes to this task alone; -1: to all
  bool label = false;
  bool kill_on_bad_exit = false;
};

// What a step's client knows of it, handed back to a server that does not.
struct StepAttach {
  AttemptNumber attempt = 0;
  std::int32_t step = 0;
  std::map<std::string, std::vector<Rank>> ranks;  // by the node's name
  std::string agent_part;                          // JSON of what its agents must know
  bool input = false;
  std::int32_t stdin_rank = -1;
  bool kill_on_bad_exit = false;
};

}  // namespace dove::backends
