// ProcessUse: processor time of the processes of attempts, from one look at /proc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dove::agent {

struct ProcessUse {
  std::int64_t cpu_us = 0;       // of its processes and of those that they have waited for
  std::int64_t terminal_us = 0;  // the part of those that have a terminal
};

// REQUIRES: a side thread, since processes may hang. By mark: that of attempts (attempt_mark), of
// which those of their tasks, steps and commands are continuations. Attempts without a process are
// left out. A process belongs by its environment, or to the attempt of its parent.
std::map<std::string, ProcessUse> read_process_use(const std::vector<std::string>& marks,
                                                   const std::string& proc = "/proc");

}  // namespace dove::agent
