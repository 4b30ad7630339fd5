// A job in full, for people: the output of `dove show`. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client/views.h"

namespace dove::cli {

// Where the time of one attempt went; of one that goes on, up to `now_us`.
struct TimeSpent {
  std::int64_t waiting_us = 0;
  std::int64_t preparing_us = 0;
  std::int64_t running_us = 0;
  std::int64_t stopping_us = 0;
};
// `ready_at_us`: since when the attempt could have begun (submission, or the end of the one
// before).
TimeSpent time_spent(const AttemptView& attempt, std::int64_t ready_at_us, std::int64_t now_us);

std::string job_text(const JobView& job, std::int64_t now_us, bool colours);

// By when a waiting job will have been started; "" when nothing was promised to it.
std::string promise_text(const JobView& job);

// "rank 2: exit code 1", "rank 0: signal 9 (fenced)".
// "810 ms" of a step; "120 (810 ms)" of a job that reports its steps, else "".
std::string step_time_text(std::int64_t us);
std::string step_text(const ProgressView& progress);

std::string exit_text(const ExitView& exit);

}  // namespace dove::cli
