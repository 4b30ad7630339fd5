// Runs a program of this machine and waits for it: bash for the check of an environment, the pager.
//
// An argument list, never a shell line. The program reads `input` as its standard input; its output
// is this process's, or kept. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dove::cli {

struct ProgramWanted {
  std::vector<std::string> command;      // [0] is looked for in PATH
  std::vector<std::string> environment;  // NAME=value, before our own
  std::string input;
  bool keep_output = false;  // both streams, at most 64 KiB
  int limit_s = 0;           // 0: none; else it is killed then
};

struct ProgramEnd {
  int code = 0;  // as a shell says it: 128 and more for a signal
  std::string output;
};

// kUnavailable "cannot_start" or "too_slow".
Result<ProgramEnd> run_program(const ProgramWanted& wanted);

}  // namespace dove::cli
