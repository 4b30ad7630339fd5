// SyncPace: when agents that return together are to sync: one after another, so that the loop has
// time for all other work. One per Agents, loop thread only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dove::backends {

class SyncPace {
 public:
  static constexpr std::int64_t kEach_us = 1'000;
  static constexpr std::int64_t kMost_us = 15'000'000;  // beyond it they come together again
  static constexpr std::int64_t kLeast_us = 50'000;     // less is not worth a timer

  // How long the next one waits.
  std::int64_t next_us(std::int64_t now_us) {
    free_at_us_ = std::max(free_at_us_, now_us);
    const std::int64_t wait_us = free_at_us_ - now_us;
    if (wait_us < kMost_us) free_at_us_ += kEach_us;
    return wait_us < kLeast_us ? 0 : wait_us;
  }

 private:
  std::int64_t free_at_us_ = 0;
};

}  // namespace dove::backends
