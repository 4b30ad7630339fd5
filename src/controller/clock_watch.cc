#include "controller/clock_watch.h"

#include <fmt/format.h>

#include <utility>

#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kKeep_us = 10'000'000;

}  // namespace

ClockWatch::ClockWatch(std::int64_t begin_us, bool accepted, Keep keep,
                       std::function<void(ClockLeapt)> note)
    : instants_(telemetry::now_us, telemetry::monotonic_us, begin_us, accepted),
      keep_(std::move(keep)),
      note_(std::move(note)) {
  now_us();
}

std::int64_t ClockWatch::now_us() {
  const std::int64_t now_us = instants_.now_us();
  over_steady_us_ = now_us - telemetry::monotonic_us();
  return now_us;
}

void ClockWatch::heard(std::int64_t at_us, std::int64_t late_us) {
  instants_.heard(at_us, late_us);
  over_steady_us_ = instants_.agreed_us() - telemetry::monotonic_us();
}

void ClockWatch::begin(std::int64_t stamped_us) {
  instants_.begin(stamped_us);
  now_us();
}

void ClockWatch::go_on_from(std::int64_t at_us) {
  instants_.go_on_from(at_us);
  now_us();
}

std::int64_t ClockWatch::even_us() const { return over_steady_us_ + telemetry::monotonic_us(); }

void ClockWatch::appended(const store::Batch& batch) {
  for (const StampedEvent& event : batch.events) {
    if (!std::holds_alternative<ClockAccepted>(event.event)) continue;
    instants_.accept();
    now_us();
    telemetry::log(telemetry::Level::kWarning, "clock_accepted", {{"by", event.cause.principal}});
    keep();
  }
}

void ClockWatch::keep() {
  if (!keep_) return;
  kept_us_ = telemetry::monotonic_us();
  const std::int64_t now_us = this->now_us();
  keep_(now_us, kept_us_, instants_.accepted());
}

void ClockWatch::look() {
  now_us();
  if (telemetry::monotonic_us() - kept_us_ >= kKeep_us) keep();
  const std::int64_t leap_us = instants_.leap_us();
  const Course course = leap_us == 0          ? Course::kFollowed
                        : instants_.slewing() ? Course::kSlewed
                                              : Course::kNotTakenOver;
  if (course == course_) return;
  course_ = course;
  note_(ClockLeapt{Span{leap_us}, course == Course::kSlewed});
  const std::lock_guard lock(mutex_);
  if (course == Course::kFollowed) {
    leap_.reset();
    telemetry::log(telemetry::Level::kInfo, "clock_is_back", {});
    return;
  }
  const char* what =
      course == Course::kSlewed
          ? "is taken over bit by bit"
          : "is not taken over, so that no job loses its time: set the clock right, or, if it is "
            "right now, run `dove controller accept-clock`";
  leap_ = Error{ErrorKind::kInternal, "clock_leapt",
                fmt::format("the clock of the controller's machine leapt by {} s, which {}",
                            leap_us / 1'000'000, what),
                ""};
  telemetry::log(telemetry::Level::kWarning, "clock_leapt", {{"why", leap_->message}});
}

std::optional<Error> ClockWatch::leap() const {
  const std::lock_guard lock(mutex_);
  return leap_;
}

}  // namespace dove::controller
