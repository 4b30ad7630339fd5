// Runs one of Slurm's commands and keeps what it prints.
//
// An argument list, never a shell; no input. What users set for Slurm in the environment (SLURM_*,
// SALLOC_*, …) is not handed on, but for SLURM_CONF. At the limits of time and output the command
// and what it has started are killed. Blocks. One thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::slurm {

struct CommandEnd {
  int code = 0;        // as a shell gives it: 128 and more for a signal
  std::string output;  // of standard output
  std::string said;    // of standard error, at most 4 KiB
};

struct CommandWanted {
  std::vector<std::string> words;  // [0] is looked for in PATH
  std::chrono::milliseconds limit = std::chrono::seconds(10);
  std::size_t output_max = 1 << 20;
  // Once a whole line of standard error holds it, the command is killed and has ended with 0:
  // salloc waits for a node's prolog after it has what it was asked for.
  std::string enough = {};
};

// kUnavailable "cannot_start", kTimeout "too_slow", kTooLarge "too_much".
Result<CommandEnd> run_command(const CommandWanted& wanted);

}  // namespace dove::slurm
