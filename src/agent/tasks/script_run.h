// ScriptRun: one run of an operator's program, with a time limit, beside the loop.
//
// The program may be on a file system that hangs: nothing waits for its start, and its directory is
// looked at on a side thread.
//
// An argument list, never a shell. Standard input is /dev/null; standard output and error are read
// together and their beginning is kept. At the limit, and when the handle is destroyed, the program
// and its descendants are killed; nothing waits for their death. Loop thread only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/loop.h"

namespace dove::agent {

struct ScriptEnd {
  int exit_code = -1;  // 128 + signal for a signal; -1: it could not be started or took too long
  std::string said;    // the first line of its output, or what was wrong
};

class ScriptRun {
 public:
  // `done` is called once, from the loop, unless the handle is gone by then.
  ScriptRun(wire::Loop& loop, std::vector<std::string> argv, std::chrono::milliseconds limit,
            std::function<void(ScriptEnd)> done);
  ~ScriptRun();
  // After `done`: whether what took too long is still there, killed but stuck in the kernel.
  bool lingers();
  ScriptRun(const ScriptRun&) = delete;
  ScriptRun& operator=(const ScriptRun&) = delete;

 private:
  void look();
  void read_output();
  void end(ScriptEnd end);
  void kill_group() const;

  wire::Loop& loop_;
  std::string program_;
  std::int64_t deadline_us_;
  std::function<void(ScriptEnd)> done_;
  pid_t pid_ = -1;
  bool killed_ = false;  // its number may be another's by now
  int output_ = -1;
  std::string said_;
  wire::Timer timer_;
};

// Runs `work` on a side thread, one of a lane after another, then calls `done` from the loop; with
// false as soon as `limit` has passed, and then no second time. Unset: works run at once.
using Aside =
    std::function<void(const std::string& lane, std::chrono::milliseconds limit,
                       std::function<void()> work, std::function<void(bool in_time)> done)>;

// Calls `done` with the paths of all executable files, ascending. Errors: the directory has not
// answered in time, or cannot be read. Loop thread only.
void list_programs(const Aside& aside, std::chrono::milliseconds limit,
                   const std::string& directory,
                   std::function<void(Result<std::vector<std::string>>)> done);

std::string no_answer_from(const std::string& path, std::chrono::milliseconds limit);

}  // namespace dove::agent
