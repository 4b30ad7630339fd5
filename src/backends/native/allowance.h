// Allowance: how many events one node may have written to the log, or how many KiB of large
// messages it may have read, so that a faulty agent exhausts neither the disk nor the loop.
//
// It suffices for a node whose thousands of tasks end together, or that syncs a few times with all
// of them; the long-term rate is low. One node's, loop thread only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dove::backends {

class Allowance {
 public:
  static constexpr std::int64_t kPerSecond = 200;

  explicit Allowance(std::int64_t burst, std::int64_t per_s = kPerSecond)
      : burst_(burst), per_s_(per_s), left_(burst) {}

  // Takes that much off it; false when it is used up, by more than `debt_max`, and nothing was
  // taken.
  bool take(std::int64_t amount, std::int64_t now_us, std::int64_t debt_max = 0) {
    const std::int64_t earned = (now_us - at_us_) * per_s_ / 1'000'000;
    if (at_us_ == 0 || left_ + earned >= burst_) {
      left_ = burst_;
      at_us_ = now_us;
    } else if (earned > 0) {
      left_ += earned;
      at_us_ += earned * 1'000'000 / per_s_;
    }
    if (left_ <= -debt_max) return false;
    left_ -= amount;
    return true;
  }

 private:
  std::int64_t burst_;
  std::int64_t per_s_;
  std::int64_t left_;  // below 0 by the debt and the last one that was taken, at most
  std::int64_t at_us_ = 0;
};

}  // namespace dove::backends
