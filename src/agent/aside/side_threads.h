// SideThreads: calls that may wait for a file system or for the directory of users, beside a loop.
//
// Works of one lane run one after another, so a work that hangs blocks only its lane and one
// thread. A lane waits if every thread is busy. A work that hangs for ever keeps its thread:
// nothing waits for it, not even the destructor.
//
// The threads have a table of descriptors of their own. A file that a work opens is therefore not
// open in a process that the loop forks, whose exec would close it and wait for its file system.
// For the same reason a work can neither use a descriptor of the loop nor hand one over.
//
// If the loop has a World of its own there are no threads: works run at once. Loop thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "wire/loop.h"

namespace dove::agent {

class SideThreads {
 public:
  SideThreads(wire::Loop& loop, std::size_t threads_max);
  ~SideThreads();  // calls no `done` any more
  SideThreads(const SideThreads&) = delete;
  SideThreads& operator=(const SideThreads&) = delete;

  // Runs `work` on a thread, then calls `done` from the loop; what `work` holds is gone by then.
  void run(const std::string& lane, std::function<void()> work, std::function<void()> done);
  // Likewise, but `done(false)` comes as soon as `limit` has passed, and then no second time.
  void run(const std::string& lane, std::chrono::milliseconds limit, std::function<void()> work,
           std::function<void(bool in_time)> done);
  // Likewise, and waits for it: whether it has ended in time. For what comes before the loop runs.
  bool wait(const std::string& lane, std::chrono::milliseconds limit, std::function<void()> work);

 private:
  struct Pool;
  void tell_finished();

  wire::Loop& loop_;
  std::shared_ptr<Pool> pool_;  // nullptr: works run at once
  wire::FdWatch finished_;
};

// The longest mount point that the path lies in as it is written, links not followed; "/" when
// nothing is known. Looks at no file system but /proc.
std::string mount_of(const std::string& path);

}  // namespace dove::agent
