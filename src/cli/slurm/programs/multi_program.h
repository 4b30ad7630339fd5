// srun --multi-prog: a file says which tasks run which program, with which arguments. It becomes
// one command, by which each task finds its own: one way for a step of ours, for one that Slurm's
// srun starts, and for one of several of those.
//
// Include only from .cc files of this part. Pure, but for join_programs().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

struct MultiProgram {
  std::vector<std::string> command;
  std::int64_t tasks = 0;   // that the file names: the highest rank, and one
  bool names_rest = false;  // by "*": any other rank, too
};

// `tasks`: of the step, each of which must have a program; 0: not known, so a task without one says
// so itself. `arguments` follow those of each line. As srun(1) describes the file: "#" begins a
// comment, "\" takes the next character as it is or goes on with the next line, single quotes keep
// what is in them; %t is the task's rank, %o its place in the ranks of its line. Errors name the
// line.
Result<MultiProgram> multi_program(std::string_view text, const std::string& name,
                                   std::int64_t tasks, const std::vector<std::string>& arguments);

// The same program for all tasks, in place of the file that --multi-prog reads. Without that option
// the invocation as it is.
Result<Invocation> join_programs(const Invocation& invocation);

}  // namespace dove::cli
