#include "controller/clock_watch.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kKeep_us = 10'000'000;

}  // namespace

ClockWatch::ClockWatch(std::int64_t begin_us, std::function<void(std::int64_t, std::int64_t)> keep)
    : instants_(telemetry::now_us, telemetry::monotonic_us, begin_us), keep_(std::move(keep)) {}

void ClockWatch::keep() {
  if (!keep_) return;
  kept_us_ = telemetry::monotonic_us();
  keep_(now_us(), kept_us_);
}

void ClockWatch::look() {
  now_us();
  if (telemetry::monotonic_us() - kept_us_ >= kKeep_us) keep();
  const std::int64_t leap_us = instants_.leap_us();
  const std::int64_t leap_s = leap_us / 1'000'000;
  const std::lock_guard lock(mutex_);
  if ((leap_s != 0) == leap_.has_value()) return;
  if (leap_s == 0) {
    leap_.reset();
    telemetry::log(telemetry::Level::kInfo, "clock_is_back", {});
    return;
  }
  const char* what = std::abs(leap_us) <= Instants::kSlewed_us
                         ? "is slewed in, at a thousandth of the time that passes"
                         : "is not taken over, so that no job loses its time: set the clock right, "
                           "or start the server anew with --accept-clock";
  leap_ = Error{
      ErrorKind::kInternal, "clock_leapt",
      fmt::format("the clock of the controller's machine leapt by {} s, which {}", leap_s, what),
      ""};
  telemetry::log(telemetry::Level::kWarning, "clock_leapt", {{"why", leap_->message}});
}

std::optional<Error> ClockWatch::leap() const {
  const std::lock_guard lock(mutex_);
  return leap_;
}

}  // namespace dove::controller
