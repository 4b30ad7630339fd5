// A program of Slurm's that a child of this process becomes.
//
// Include only from .cc files of this part. To be called between fork and exec, and where the
// process has no other threads.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace dove::cli {

// Ends with `parent`, by SIGTERM. `words`: without its own name, the last part of `program`. Where
// it cannot be run, the child says so on its error output and exits with 127.
[[noreturn]] void become_child(const std::string& program, const std::vector<std::string>& words,
                               const std::vector<std::string>& environment, pid_t parent);

}  // namespace dove::cli
