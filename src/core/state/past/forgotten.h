// Forgotten: what jobs that have left the State held, so that usage outlives them.
//
// It is kept by UTC day, user, project and queue. A job is counted once, when it is forgotten.
// Entries older than kForgotten_days are dropped. A caller that sums up usage adds the jobs that
// are still in the State.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "model/time.h"

namespace dove::core {

constexpr std::int32_t kForgotten_days = 400;

struct ForgottenKey {
  std::int32_t day = 0;  // since 1970
  std::string user;
  std::string project;
  std::string queue;
  auto operator<=>(const ForgottenKey&) const = default;
};

struct ForgottenUse {
  std::int64_t gpu_milli_ms = 0;  // thousandths of GPUs times milliseconds
  std::int64_t core_ms = 0;
  std::int64_t jobs = 0;  // that held something last on this day
};

struct Forgotten {
  std::map<ForgottenKey, ForgottenUse> use;
  std::int64_t jobs = 0;  // all that were counted, also those without use, or whose use was dropped
  Instant since;          // when the first one was counted
};

}  // namespace dove::core
