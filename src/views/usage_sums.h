// UsageSums: what jobs held in a time, by user, project, domain or queue, as GPU hours and core
// hours.
//
// A job holds its devices and cores from when they are given to an attempt until the attempt has
// ended. What forgotten jobs held is known by the UTC day: a part of a day has its part of the
// day's hours. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/state/state.h"
#include "model/time.h"

namespace dove::views {

enum class UsageBy { kUser, kProject, kDomain, kQueue };

class UsageSums {
 public:
  struct Row {
    std::string name;               // "": jobs of no project, or of no domain
    std::int64_t gpu_milli_ms = 0;  // thousandths of GPUs times milliseconds
    std::int64_t core_ms = 0;
    std::int64_t jobs = 0;            // that held something in this time
    std::vector<std::int64_t> steps;  // of gpu_milli_ms
  };

  // REQUIRES: from < to, steps > 0.
  UsageSums(UsageBy by, Instant from, Instant to, std::size_t steps);

  // What it held by `now`. `state` knows the domains.
  void add(const core::State& state, const core::Job& job, Instant now);
  void add(const core::State& state, const core::ForgottenKey& key, const core::ForgottenUse& use,
           Instant now);

  // Those who held most come first.
  std::vector<Row> rows() const;
  Span step() const { return {step_us_}; }

 private:
  Row& row_of(const core::State& state, const std::string& user, const std::string& project,
              const std::string& queue);
  // Spreads what was held evenly over the steps from begin_us to end_us, which lie in the time.
  void spread(Row& row, std::int64_t gpu_milli_ms, std::int64_t begin_us,
              std::int64_t end_us) const;

  UsageBy by_;
  std::int64_t from_us_;
  std::int64_t to_us_;
  std::size_t steps_;
  std::int64_t step_us_;
  std::map<std::string, Row> rows_;
};

}  // namespace dove::views
