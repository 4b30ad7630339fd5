// StepInput: sends this process's standard input to a step that it started.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "cli/client/endpoint.h"

namespace dove::cli {

// Whether standard input is open and other than /dev/null.
bool has_input();

// Reads and sends on a thread of its own until the input or the step ends, or it is destroyed,
// which waits for the call in progress: end the step first. At most one piece of 64 KiB is under
// way.
class StepInput {
 public:
  StepInput(Endpoint endpoint, std::string job, std::int64_t step);

 private:
  void run(const std::stop_token& stop);
  // False: nobody takes it.
  bool send(std::string bytes, bool end, const std::stop_token& stop);

  const Endpoint endpoint_;
  const std::string target_;
  std::int64_t offset_ = 0;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace dove::cli
