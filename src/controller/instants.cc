#include "controller/instants.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace dove::controller {

Instants::Instants(std::function<std::int64_t()> wall, std::function<std::int64_t()> steady,
                   std::int64_t begin_us, bool accepted)
    : wall_(std::move(wall)),
      steady_(std::move(steady)),
      now_us_(begin_us != 0 ? begin_us : wall_()),
      steady_us_(steady_()),
      accepted_(begin_us != 0 && accepted) {}

void Instants::heard(std::int64_t at_us, std::int64_t late_us) {
  ahead_us_ = now_us() - at_us;
  least_ahead_us_ = ahead_us_ - late_us;
}

std::int64_t Instants::agreed_us() {
  const std::int64_t own_us = now_us();
  // Stamps may be heard late, never early.
  const bool is_ahead = least_ahead_us_ > kFollowed_us;
  const bool is_behind = ahead_us_ < -kFollowed_us;
  return is_ahead || is_behind ? own_us - ahead_us_ : own_us;
}

void Instants::begin(std::int64_t stamped_us) {
  now_us_ = agreed_us();
  ahead_us_ = least_ahead_us_ = 0;
  now_us_ = std::max(now_us_, stamped_us);
}

std::int64_t Instants::now_us() {
  const std::int64_t steady_us = steady_();
  const std::int64_t passed_us = steady_us - steady_us_;
  const std::int64_t even_us = now_us_ + passed_us;
  const std::int64_t wall_us = wall_();
  const std::int64_t ahead_us = wall_us - even_us;
  leap_us_ = ahead_us > kFollowed_us || ahead_us < -kFollowed_us ? ahead_us : 0;
  now_us_ = leap_us_ == 0 ? wall_us : even_us;
  accepted_ = accepted_ && leap_us_ != 0;
  if (slewing()) {
    const std::int64_t most_us = passed_us / (accepted_ ? kAcceptedSlew : kSlew);
    now_us_ += std::clamp(leap_us_, -most_us, most_us);
  }
  steady_us_ = steady_us;
  return now_us_;
}

void Instants::go_on_from(std::int64_t at_us) {
  now_us();
  now_us_ = at_us;
}

bool Instants::slewing() const {
  return leap_us_ != 0 && (accepted_ || std::abs(leap_us_) <= kSlewed_us);
}

void Instants::accept() {
  now_us();
  if (leap_us_ > 0) now_us_ += std::exchange(leap_us_, 0);
  accepted_ = leap_us_ != 0;
}

}  // namespace dove::controller
