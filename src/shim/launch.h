// Launch: from a configuration to a running task: its files, its user, its limits, its execution.
//
// prepare() does all that can fail early, so that a gang learns at its barrier what will not work;
// start() makes the process. The files are opened with the rights of the task's user.
#pragma once

#include <sys/types.h>

#include "shim/config.h"

namespace dove::shim {

// What went wrong: "cannot DOING WHAT: strerror(number)".
struct Failure {
  int number = 0;
  const char* doing = "";
  const char* what = "";
};

// Takes on the rights of the task's user for opening files, until the end of the scope.
class AsTaskUser {
 public:
  explicit AsTaskUser(const Config& config);
  ~AsTaskUser();
  AsTaskUser(const AsTaskUser&) = delete;
  AsTaskUser& operator=(const AsTaskUser&) = delete;

 private:
  bool changed_;
};

struct Streams {
  int in = 0;        // 0, 1, 2 are /dev/null
  int held_in = -1;  // the other end of `in`, kept open
  int out = 1;
  int err = 2;
  int cwd = -1;
  int tell = -1;  // of a container's process 1
};

// Opens what the task will have. With rotation `out` and `err` are left to the caller.
bool prepare(const Config& config, Streams& streams, Failure& failure);

// Whether the path is that of a file in the directory that is made when it is needed.
bool in_output_dir(const Config& config, const char* path);

// Opens an output file, in the output directory that it makes if there is none yet, as the task's
// user. `truncate`: empties it. -1 and errno on failure.
int open_output(const Config& config, const char* path, bool truncate);

// Makes the task's process and returns once it executes the task: its pid, or -1 with `failure`.
// A failed one may have to be waited for.
pid_t start(const Config& config, const Streams& streams, Failure& failure);

}  // namespace dove::shim
