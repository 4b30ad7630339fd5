// The process beside `dove slurm` that sends the controller what jobs print (`dove logs`): a file
// system that does not answer holds up nothing else.
//
// It ends with the process that made it, and is made again when it ends before. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "wire/client.h"

namespace dove::programs {

class SlurmOutput {
 public:
  // `executor`: "/v1/executors/NAME".
  SlurmOutput(std::string url, wire::ClientOptions client, std::string executor);
  ~SlurmOutput();
  SlurmOutput(const SlurmOutput&) = delete;
  SlurmOutput& operator=(const SlurmOutput&) = delete;

  // To be called every now and then. REQUIRES: this process has one thread.
  void keep();

 private:
  // An error that it does not expect ends this process, and is not the adapter's.
  [[noreturn]] void run() const noexcept;

  const std::string url_;
  const wire::ClientOptions client_;
  const std::string target_;
  pid_t process_ = -1;
  std::int64_t begun_us_ = 0;
};

}  // namespace dove::programs
