// Where the tasks of a step on several nodes write: to one file of the step or of each node, which
// this process writes, or to one of each task, which opens it. Pure.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cli/command.h"
#include "cli/slurm/gang/job_in_slurm.h"

namespace dove::cli {

// Where a stream of a node goes.
struct StepStream {
  std::string path;  // "": on, to this process's own
  bool append = false;
};

struct StepFile {
  enum class Of { kStep, kNode, kTask };
  Of of = Of::kStep;
  std::string pattern;  // "": this process's own stream
  bool joins_output = false;
  std::int32_t only_rank = -1;  // what that task writes alone, to this process's own stream
};

struct StepFiles {
  StepFile output, error;
  bool append = false;
  std::map<char, std::string> numbers;  // that letters of patterns stand for
};

// Whether Slurm's numbers are filled in to its value.
bool names_a_file(std::string_view option);

// Errors: the number of the step, which is not known; that of a task that is not below `tasks`.
Result<StepFiles> step_files(const Invocation& invocation, const GangContext& context,
                             std::int32_t tasks);

// What this process writes for that node; nothing of files that tasks open.
StepStream stream_of_node(const StepFiles& files, const StepFile& file, const std::string& node,
                          std::int32_t node_rank);
// Standard output and error; "": as it is; "&1": as the output.
std::pair<std::string, std::string> files_of_task(const StepFiles& files, const std::string& node,
                                                  std::int32_t node_rank, std::int32_t rank);

}  // namespace dove::cli
