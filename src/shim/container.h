// Container: what the shim keeps of a task that runs in a container: its launcher, until it has
// brought the container up and gone; then the pipe on which process 1 tells how the program fares.
#pragma once

#include <sys/time.h>
#include <sys/types.h>

#include <cstdint>

#include "shim/config.h"
#include "shim/launch.h"

namespace dove::shim {

constexpr std::int64_t microseconds(const timeval& time) {
  return time.tv_sec * 1'000'000 + time.tv_usec;
}

class Container {
 public:
  // Makes the pipe; `tell` is the end for the launcher.
  bool open(int& tell, Failure& failure);
  // The launcher runs, and has `tell`, which is closed here.
  void launched(pid_t launcher, int& tell);

  bool launching() const { return launcher_ != 0; }
  // Whether the container's program is known to run, or to have run.
  bool runs() const { return running_ && launcher_ == 0; }
  int fd() const { return hear_; }

  // Reads what process 1 has told so far. Never waits.
  void hear();
  // False while the launcher is busy. Else sets `pid` to the container's process 1, now a child of
  // the shim, or `failure`.
  bool reap_launcher(const Config& config, pid_t& pid, Failure& failure);
  // After the end of process 1: how the program ended goes to `status`, or why it did not run to
  // `failure`.
  void settle(const Config& config, int& status, Failure& failure) const;

  // What launching cost, which is not the task's.
  std::int64_t launch_user_us() const { return launch_user_us_; }
  std::int64_t launch_system_us() const { return launch_system_us_; }

 private:
  pid_t launcher_ = 0;
  int hear_ = -1;
  bool running_ = false;
  bool told_end_ = false;
  int status_ = 0;
  int failed_errno_ = 0;
  std::int64_t launch_user_us_ = 0;
  std::int64_t launch_system_us_ = 0;
};

}  // namespace dove::shim
