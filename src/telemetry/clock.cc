#include "telemetry/clock.h"

#include <ctime>

#include "base/check.h"

namespace dove::telemetry {
namespace {

std::int64_t read_us(clockid_t clock) {
  timespec at{};
  CHECK(clock_gettime(clock, &at) == 0, "the system has this clock");
  return std::int64_t{at.tv_sec} * 1'000'000 + at.tv_nsec / 1'000;
}

}  // namespace

std::int64_t now_us() { return read_us(CLOCK_REALTIME); }

std::int64_t monotonic_us() { return read_us(CLOCK_BOOTTIME); }

}  // namespace dove::telemetry
