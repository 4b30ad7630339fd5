// Child: a program that the agent runs beside its work: bringing and unpacking an image, taking a
// container down, removing a tree.
//
// Never through a shell. It has no input; of what it says the end is kept for an error's message.
// Destroying the handle kills it. Loop thread only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/loop.h"

namespace dove::containers {

class Child {
 public:
  using Done = std::function<void(Result<void>)>;

  // `done` is called from the loop, once, unless the handle is destroyed before. Its error says
  // what the program said (kInvalid), that it took longer than `limit` (kTimeout), or why it could
  // not be started.
  Child(wire::Loop& loop, std::vector<std::string> argv, std::chrono::milliseconds limit,
        Done done);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // With which it ended; -1: it has not, or by a signal.
  int exit_status() const { return exit_status_; }

 private:
  void start();
  Error too_late() const;
  void read_output();
  void ended();
  void finish(Result<void> result);

  wire::Loop& loop_;
  const std::vector<std::string> argv_;
  Done done_;
  std::string said_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int output_ = -1;
  int exit_status_ = -1;
  bool timed_out_ = false;
  wire::FdWatch exit_watch_;
  wire::FdWatch output_watch_;
  wire::Timer limit_;
};

}  // namespace dove::containers
