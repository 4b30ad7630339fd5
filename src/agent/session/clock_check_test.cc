#include "agent/session/clock_check.h"

#include <gtest/gtest.h>

namespace dove::agent {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kNoon_us = 1'772'000'000 * kSecond;

// Our clock is so far ahead; the report took so long.
ClockReading reading(std::int64_t ahead_us, std::int64_t took_us) {
  return {5 * kSecond, 5 * kSecond + took_us, kNoon_us + ahead_us + took_us / 2, kNoon_us};
}

TEST(ClockCheck, ClocksThatAgreeAreNotTold) {
  ClockCheck check;
  EXPECT_FALSE(check.heard(reading(0, 1'000)).has_value());
  EXPECT_FALSE(check.heard(reading(900'000, 0)).has_value());
  EXPECT_FALSE(check.heard(reading(-900'000, 0)).has_value());
}

TEST(ClockCheck, WhatTheWayTookIsInDoubt) {
  ClockCheck check;
  EXPECT_FALSE(check.heard(reading(2 * kSecond, 4 * kSecond)).has_value());
  EXPECT_TRUE(check.heard(reading(2 * kSecond, kSecond)).has_value());
}

TEST(ClockCheck, AVerdictIsToldWhenItChanges) {
  ClockCheck check;
  const auto warning = check.heard(reading(-2'340'000, 0));
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(warning->severity, Severity::kWarning);
  EXPECT_TRUE(warning->evidence.starts_with("the clock is 2.3 s behind the controller's"));
  EXPECT_FALSE(check.heard(reading(-3 * kSecond, 0)).has_value());
  const auto fault = check.heard(reading(90 * kSecond, 0));
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->severity, Severity::kFault);
  EXPECT_TRUE(fault->evidence.starts_with("the clock is 90.0 s ahead of"));
  EXPECT_FALSE(check.heard(reading(0, 4 * kSecond)).has_value()) << "too slow an answer to tell";
  const auto good = check.heard(reading(100'000, 0));
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->severity, Severity::kGood);
  EXPECT_EQ(good->check, "clock");
}

}  // namespace
}  // namespace dove::agent
