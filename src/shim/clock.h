// The two clocks dove-shim reads, in microseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace dove::shim {

inline std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

inline std::int64_t boottime_us() { return clock_us(CLOCK_BOOTTIME); }
inline std::int64_t realtime_us() { return clock_us(CLOCK_REALTIME); }

}  // namespace dove::shim
