// Runs a program and waits for its end, keeping what it prints.
//
// An argument list, never a shell. At the limits of time and output, and when it has ended, what it
// has started is killed, too; what cannot be killed is not waited for. Blocks: never on a loop. Any
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::command {

struct End {
  int code = 0;        // as a shell gives it: 128 and more for a signal
  std::string output;  // of standard output
  std::string said;    // of standard error, at most 4 KiB
};

struct Wanted {
  std::vector<std::string> words;  // [0] is looked for in PATH
  std::chrono::milliseconds limit = std::chrono::seconds(10);
  std::size_t output_max = 1 << 20;
  // Once a whole line of standard error holds it, the command is killed and has ended with 0:
  // salloc waits for a node's prolog after it has what it was asked for.
  std::string enough = {};
  std::string input = {};                                    // at most kInputMax
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; unset: ours
  bool own_session = false;  // without our terminal; else it has a process group of its own
};

// What a pipe takes at once.
inline constexpr std::size_t kInputMax = 16 << 10;

// REQUIRES: SIGPIPE is ignored when there is an input. Errors: kUnavailable cannot_start; kTimeout
// too_slow; kTooLarge too_much.
Result<End> run(const Wanted& wanted);

}  // namespace dove::command
