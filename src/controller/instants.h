// Instants: the time that batches are stamped with.
//
// It follows the machine's clock as long as that runs evenly, and goes on by the steady clock when
// it leaps: a limit of ten minutes is ten minutes, whatever somebody sets the clock to. Once the
// machine's clock is back where it would have been, it is followed again. One thread.
#pragma once

#include <cstdint>
#include <functional>

namespace dove::controller {

class Instants {
 public:
  // Microseconds: UTC, and since some moment, in steps that nobody sets.
  Instants(std::function<std::int64_t()> wall, std::function<std::int64_t()> steady);

  std::int64_t now_us();
  // How far the machine's clock was ahead of now_us() when it was last asked; 0: it is followed.
  std::int64_t leap_us() const { return leap_us_; }

  static constexpr std::int64_t kFollowed_us = 1'000'000;  // between two looks

 private:
  std::function<std::int64_t()> wall_;
  std::function<std::int64_t()> steady_;
  std::int64_t now_us_;
  std::int64_t steady_us_;
  std::int64_t leap_us_ = 0;
};

}  // namespace dove::controller
