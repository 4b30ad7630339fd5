#include "core/state/past/past_use.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

constexpr Span kHalf_life = seconds(1000);

Usage of_gpus(std::int32_t milli) {
  Usage usage;
  usage.gpus_milli = milli;
  return usage;
}

TEST(PastUse, IsHalfAfterAHalfLife) {
  PastUse past{1'000'000, Instant{}};
  const std::int64_t after = past_use_at(past, Usage{}, kHalf_life, Instant{} + kHalf_life);
  EXPECT_NEAR(static_cast<double>(after), 500'000, 1000);
}

TEST(PastUse, GrowsWithWhatIsHeld) {
  PastUse past;
  const Usage used = of_gpus(2000);
  charge(past, used, kHalf_life, Instant{} + seconds(1));
  EXPECT_EQ(past.at, Instant{} + seconds(1));
  EXPECT_NEAR(static_cast<double>(past.amount), 2000.0 * 1000, 2000);
}

TEST(PastUse, ChargingTwiceIsChargingOnce) {
  PastUse once;
  PastUse twice;
  const Usage used = of_gpus(1000);
  charge(once, used, kHalf_life, Instant{} + seconds(20));
  charge(twice, used, kHalf_life, Instant{} + seconds(10));
  charge(twice, used, kHalf_life, Instant{} + seconds(20));
  EXPECT_NEAR(static_cast<double>(once.amount), static_cast<double>(twice.amount), 100);
}

TEST(PastUse, APartOfTheClusterIsAsLargeAsWhatWasHeld) {
  const Instant later = Instant{} + seconds(100'000);
  const auto part_of = [&](std::int32_t milli) {
    const std::int64_t use = past_use_at(PastUse{}, of_gpus(milli), kHalf_life, later);
    return static_cast<double>(past_part(use, use_rate_milli(of_gpus(4000)), kHalf_life));
  };
  EXPECT_GT(part_of(1000), 0);
  EXPECT_NEAR(part_of(4000), 4 * part_of(1000), 100);
}

}  // namespace
}  // namespace dove::core
