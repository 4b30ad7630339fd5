#include "agent/session/clock_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace dove::agent {
namespace {

constexpr std::int64_t kAgrees_us = 500'000;
constexpr std::int64_t kWarning_us = 1'000'000;
constexpr std::int64_t kFault_us = 60'000'000;

}  // namespace

std::optional<Finding> ClockCheck::heard(const ClockReading& reading) {
  const std::int64_t doubt_us = std::max<std::int64_t>(reading.heard_us - reading.sent_us, 0) / 2;
  const std::int64_t ahead_us = reading.own_us - doubt_us - reading.controller_us;
  const std::int64_t off_us = std::max<std::int64_t>(std::abs(ahead_us) - doubt_us, 0);
  Severity now = told_;
  if (off_us >= kFault_us) {
    now = Severity::kFault;
  } else if (off_us >= kWarning_us) {
    now = Severity::kWarning;
  } else if (off_us < kAgrees_us && doubt_us < kAgrees_us) {
    now = Severity::kGood;
  }
  if (now == told_) return std::nullopt;
  told_ = now;
  if (now == Severity::kGood) return Finding{"clock", now, Remedy::kNone, -1, ""};
  return Finding{
      "clock", now, Remedy::kNone, -1,
      fmt::format("the clock is {}.{} s {} the controller's; is chrony or another time "
                  "service running on both?",
                  off_us / 1'000'000, off_us / 100'000 % 10, ahead_us > 0 ? "ahead of" : "behind")};
}

}  // namespace dove::agent
