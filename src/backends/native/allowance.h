// Allowance: how many events one node may have written to the log, and how many KiB of large
// messages it may have read, so that an agent gone wrong takes neither the disk nor the loop that
// all others need.
//
// Enough for a node whose thousands of tasks end together, or that syncs some times with all of
// them; little in the long run. One node's, loop thread only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dove::backends {

class Allowance {
 public:
  static constexpr std::int64_t kPerSecond = 200;

  explicit Allowance(std::int64_t burst) : burst_(burst), left_(burst) {}

  // Takes `events` off it; false when it is used up, and nothing was taken.
  bool take(std::int64_t events, std::int64_t now_us) {
    const std::int64_t earned = (now_us - at_us_) * kPerSecond / 1'000'000;
    if (at_us_ == 0 || left_ + earned >= burst_) {
      left_ = burst_;
      at_us_ = now_us;
    } else if (earned > 0) {
      left_ += earned;
      at_us_ += earned * 1'000'000 / kPerSecond;
    }
    if (left_ <= 0) return false;
    left_ -= events;
    return true;
  }

 private:
  std::int64_t burst_;
  std::int64_t left_;  // below 0 by the last one that was taken at most
  std::int64_t at_us_ = 0;
};

}  // namespace dove::backends
