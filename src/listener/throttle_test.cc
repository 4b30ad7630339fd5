#include "listener/throttle.h"

#include <gtest/gtest.h>

#include <vector>

namespace dove::listener {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

ThrottleLimits small() {
  ThrottleLimits limits;
  limits.requests = {10, 20};
  limits.in_progress_max = 3;
  limits.failures = {1, 2};
  return limits;
}

int admitted(Throttle& throttle, const std::string& who, int tries, std::int64_t now_us) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += throttle.begin(who, now_us).ok() ? 1 : 0;
  return count;
}

TEST(ThrottleTest, EachHasABurstAndARate) {
  Throttle throttle(small());
  EXPECT_EQ(admitted(throttle, "ann", 100, kSecond), 20);
  EXPECT_EQ(admitted(throttle, "bob", 5, kSecond), 5) << "not for another's";
  EXPECT_EQ(admitted(throttle, "ann", 100, 2 * kSecond), 10);
  EXPECT_EQ(admitted(throttle, "ann", 100, 90 * kSecond), 20);
  EXPECT_EQ(throttle.begin("ann", 90 * kSecond).error().code, "rate_limited");
}

TEST(ThrottleTest, BodiesHaveARateOfTheirOwn) {
  ThrottleLimits limits = small();
  limits.requests = {1'000, 1'000};
  limits.body_kib = {100, 1'000};
  Throttle throttle(limits);
  EXPECT_TRUE(throttle.begin("ann", kSecond, 900 << 10).ok());
  EXPECT_TRUE(throttle.begin("ann", kSecond, 900 << 10).ok()) << "the last one may be larger";
  const auto refused = throttle.begin("ann", kSecond, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "rate_limited");
  EXPECT_TRUE(throttle.begin("ann", kSecond).ok()) << "to ask takes nothing";
  EXPECT_TRUE(throttle.begin("bob", kSecond, 900 << 10).ok()) << "not for another's";
  EXPECT_FALSE(throttle.begin("ann", 9 * kSecond, 1).ok());
  EXPECT_TRUE(throttle.begin("ann", 10 * kSecond, 1).ok());
}

TEST(ThrottleTest, WhatIsInProgressCounts) {
  Throttle throttle(small());
  std::vector<std::shared_ptr<void>> held;
  for (int i = 0; i < 3; ++i) held.push_back(throttle.begin("ann", kSecond).value());
  EXPECT_FALSE(throttle.begin("ann", kSecond).ok());
  held.pop_back();
  EXPECT_TRUE(throttle.begin("ann", kSecond).ok());
}

TEST(ThrottleTest, WhoeverHasMuchUnreadIsAskedToReadIt) {
  ThrottleLimits limits = small();
  limits.unread_bytes_max = 1'000;
  Throttle throttle(limits);
  ASSERT_TRUE(throttle.begin("ann", kSecond).ok());
  wire::BacklogPart large;
  large.enter(throttle.unread_of("ann"));
  large.set(999);
  EXPECT_TRUE(throttle.begin("ann", kSecond).ok());
  wire::BacklogPart another;
  another.enter(throttle.unread_of("ann"));
  another.set(1);
  const auto refused = throttle.begin("ann", kSecond);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "rate_limited");
  EXPECT_TRUE(throttle.begin("bob", kSecond).ok()) << "not for another's";
  large.set(500);
  EXPECT_TRUE(throttle.begin("ann", kSecond).ok());
}

TEST(ThrottleTest, AnAddressThatFailsOftenIsToldSo) {
  Throttle throttle(small());
  const Error why{ErrorKind::kUnauthenticated, "token_invalid", "wrong", ""};
  EXPECT_EQ(throttle.failed("a", why, kSecond).code, "token_invalid");
  EXPECT_EQ(throttle.failed("a", why, kSecond).code, "token_invalid");
  EXPECT_EQ(throttle.failed("a", why, kSecond).code, "rate_limited");
  EXPECT_EQ(throttle.failed("b", why, kSecond).code, "token_invalid");
  EXPECT_EQ(throttle.failed("a", why, 2 * kSecond).code, "token_invalid");
}

TEST(ThrottleTest, ANetworkOfIPv6IsOneAddress) {
  Throttle throttle(small());
  const Error why{ErrorKind::kUnauthenticated, "token_invalid", "wrong", ""};
  EXPECT_EQ(throttle.failed("[2001:db8:0:7::1]", why, kSecond).code, "token_invalid");
  EXPECT_EQ(throttle.failed("[2001:db8:0:7::2]", why, kSecond).code, "token_invalid");
  EXPECT_EQ(throttle.failed("[2001:db8:0:7:a::3]", why, kSecond).code, "rate_limited");
  EXPECT_EQ(throttle.failed("[2001:db8:0:8::1]", why, kSecond).code, "token_invalid");
}

TEST(ThrottleTest, FiveHundredSubmissionsASecondAreNoMatter) {
  Throttle throttle;
  for (int s = 1; s < 60; ++s) EXPECT_EQ(admitted(throttle, "ann", 3'500, s * kSecond), 3'500);
}

TEST(ThrottleTest, ThoseWhoHaveRestedAreForgotten) {
  Throttle throttle(small());
  for (int i = 0; i < 30'000; ++i) {
    EXPECT_TRUE(throttle.begin("u" + std::to_string(i), kSecond + i * 1'000).ok());
  }
}

TEST(ThrottleTest, AHostIsAnAddressWithoutItsPort) {
  EXPECT_EQ(host_of_peer("192.0.2.7:40122"), "192.0.2.7");
  EXPECT_EQ(host_of_peer("[::1]:40122"), "[::1]");
}

}  // namespace
}  // namespace dove::listener
