// Immediate: `--immediate[=SECONDS]` of srun and salloc, which cancel a job that does not start in
// time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "cli/client/api.h"
#include "cli/command.h"

namespace dove::cli {

// From the option, in seconds; none without it. Without a value it is 1, which an idle cluster
// keeps easily. Errors: the value is no whole number of seconds from 1 to 10 years.
Result<std::optional<int>> immediate_s(const Invocation& invocation);

// Cancels job `id` if it has not started `limit_s` seconds from now, as long as this lives. Watches
// in a thread of its own, with a connection of its own.
class StartLimit {
 public:
  StartLimit(Endpoint endpoint, std::string id, std::optional<int> limit_s);
  ~StartLimit();
  StartLimit(const StartLimit&) = delete;
  StartLimit& operator=(const StartLimit&) = delete;

  // Ends the watch. Whether it cancelled the job.
  bool has_passed();

 private:
  void end();
  void watch(const Endpoint& endpoint, const std::string& id, int limit_s);

  std::mutex mutex_;
  std::condition_variable end_;
  bool over_ = false;
  bool passed_ = false;  // of the thread until it is joined
  std::thread thread_;
};

// As Slurm says it, for `face`.
void tell_busy(const std::string& face);

}  // namespace dove::cli
