// UsageSums: what jobs held in a time, by user, project or queue, as GPU hours and core hours.
//
// A job holds its devices and cores from when they are given to an attempt until the attempt has
// ended. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/state/state.h"
#include "model/time.h"

namespace dove::views {

enum class UsageBy { kUser, kProject, kQueue };

class UsageSums {
 public:
  struct Row {
    std::string name;               // "": jobs of no project
    std::int64_t gpu_milli_ms = 0;  // thousandths of GPUs times milliseconds
    std::int64_t core_ms = 0;
    std::int64_t jobs = 0;            // that held something in this time
    std::vector<std::int64_t> steps;  // of gpu_milli_ms
  };

  // REQUIRES: from < to, steps > 0.
  UsageSums(UsageBy by, Instant from, Instant to, std::size_t steps);

  // What it held by `now`.
  void add(const core::Job& job, Instant now);

  // Those who held most come first.
  std::vector<Row> rows() const;
  Span step() const { return {step_us_}; }

 private:
  void add(Row& row, const core::Attempt& attempt, std::int64_t begin_us,
           std::int64_t end_us) const;

  const UsageBy by_;
  const std::int64_t from_us_;
  const std::int64_t to_us_;
  const std::size_t steps_;
  const std::int64_t step_us_;
  std::map<std::string, Row> rows_;
};

}  // namespace dove::views
