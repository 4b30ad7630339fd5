#include "controller/clock_watch.h"

#include <gtest/gtest.h>

#include "telemetry/clock.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;

// What a standby shows and judges by before it leads.
TEST(ClockWatch, AStandbysTimeIsThatOfTheLeaderWhoseStampsItReads) {
  for (const std::int64_t wrong_by_us : {25 * 3600 * kSecond_us, -31 * 86'400 * kSecond_us}) {
    ClockWatch clock(telemetry::now_us() + wrong_by_us, false, {}, [](ClockLeapt) {});
    EXPECT_NEAR(static_cast<double>(clock.even_us() - telemetry::now_us()),
                static_cast<double>(wrong_by_us), 60e6);
    clock.heard(telemetry::now_us(), kSecond_us);
    EXPECT_NEAR(static_cast<double>(clock.even_us() - telemetry::now_us()), 0, 60e6);
  }
}

}  // namespace
}  // namespace dove::controller
