// RunHistory: the run times of a user's jobs by width, and the run time to expect of the next.
//
// Plain data, a fold of the jobs that ended. A new user is treated as the average user. The first
// jobs of a width are weighted against those of the whole user, so that a single odd job does not
// decide. Whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/time.h"

namespace dove::core {

struct RunCounts {
  std::int64_t ended = 0;
  std::int64_t ran_ms = 0;
};

struct UserRuns {
  RunCounts all;
  std::map<std::int32_t, RunCounts> by_width;  // by class of width
};

struct RunHistory {
  RunCounts all;
  std::map<std::string, UserRuns> by_user;

  void ended(const std::string& user, std::int64_t size_milli, Span ran);
  // How long a job that starts now is likely to run; 10 minutes without any history.
  Span likely(const std::string& user, std::int64_t size_milli) const;
  Span mean() const;
};

}  // namespace dove::core
