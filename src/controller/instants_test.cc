#include "controller/instants.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace dove::controller {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

class InstantsTest : public ::testing::Test {
 protected:
  void pass(std::int64_t us) {
    wall_us_ += us;
    steady_us_ += us;
  }

  std::int64_t wall_us_ = 1'000'000 * kSecond;
  std::int64_t steady_us_ = 500 * kSecond;
  Instants instants_{[this] { return wall_us_; }, [this] { return steady_us_; }};
};

TEST_F(InstantsTest, FollowsAClockThatRunsEvenly) {
  for (int i = 0; i < 1000; ++i) {
    pass(10 * kSecond);
    wall_us_ += 5'000;  // which is slewed
    EXPECT_EQ(instants_.now_us(), wall_us_);
  }
  EXPECT_EQ(instants_.leap_us(), 0);
}

TEST_F(InstantsTest, ALeapIsNotFollowed) {
  for (const std::int64_t leap_us : {7200 * kSecond, -86'400 * kSecond}) {
    pass(kSecond);
    const std::int64_t before_us = instants_.now_us();
    wall_us_ += leap_us;
    pass(5 * kSecond);
    EXPECT_EQ(instants_.now_us(), before_us + 5 * kSecond);
    EXPECT_EQ(instants_.leap_us(), leap_us);
    pass(100 * kSecond);
    EXPECT_EQ(instants_.now_us(), before_us + 105 * kSecond);
    wall_us_ -= leap_us;
    EXPECT_EQ(instants_.now_us(), wall_us_);
    EXPECT_EQ(instants_.leap_us(), 0) << "it was set right";
  }
}

TEST_F(InstantsTest, AStepIsSlewedIn) {
  for (const std::int64_t step_us : {30 * kSecond, -60 * kSecond}) {
    wall_us_ += step_us;
    std::int64_t before_us = instants_.now_us();
    std::int64_t looks = 0;
    do {
      pass(10 * kSecond);
      const std::int64_t now_us = instants_.now_us();
      EXPECT_NEAR(static_cast<double>(now_us - before_us), 10e6, 1.001e6) << "the last second";
      if (instants_.leap_us() != 0) {
        EXPECT_EQ(std::abs(now_us - before_us - 10 * kSecond), 10'000);
      }
      before_us = now_us;
    } while (instants_.leap_us() != 0 && ++looks < 100'000);
    EXPECT_EQ(instants_.now_us(), wall_us_);
  }
}

TEST_F(InstantsTest, AnAcceptedClockThatIsAheadCountsAtOnce) {
  wall_us_ += 86'400 * kSecond;
  EXPECT_LT(instants_.now_us(), wall_us_);
  instants_.accept();
  EXPECT_EQ(instants_.now_us(), wall_us_);
  EXPECT_EQ(instants_.leap_us(), 0);
  wall_us_ += 86'400 * kSecond;
  EXPECT_LT(instants_.now_us(), wall_us_) << "the next leap is another question";
}

TEST_F(InstantsTest, AnAcceptedClockThatIsBehindIsSlewedIn) {
  wall_us_ -= 86'400 * kSecond;
  instants_.accept();
  std::int64_t before_us = instants_.now_us();
  std::int64_t passed_us = 0;
  while (instants_.leap_us() != 0 && passed_us < 20 * 86'400 * kSecond) {
    pass(100 * kSecond);
    passed_us += 100 * kSecond;
    const std::int64_t now_us = instants_.now_us();
    EXPECT_GE(now_us, before_us + 89 * kSecond);
    before_us = now_us;
  }
  EXPECT_EQ(instants_.now_us(), wall_us_);
  EXPECT_NEAR(static_cast<double>(passed_us), 10 * 86'400e6, 200e6);
}

TEST_F(InstantsTest, AfterARestartAnAcceptedClockIsStillSlewedIn) {
  wall_us_ -= 86'400 * kSecond;
  instants_.accept();
  pass(100 * kSecond);
  const std::int64_t before_us = instants_.now_us();
  ASSERT_TRUE(instants_.accepted());
  Instants next([this] { return wall_us_; }, [this] { return steady_us_; }, before_us, true);
  pass(100 * kSecond);
  EXPECT_EQ(next.now_us(), before_us + 90 * kSecond);
  Instants other([this] { return wall_us_; }, [this] { return steady_us_; }, before_us, false);
  pass(100 * kSecond);
  EXPECT_EQ(other.now_us(), before_us + 100 * kSecond) << "nobody has accepted it";
}

TEST_F(InstantsTest, WhatWasStampedIsNotUndone) {
  const std::int64_t stamped_us = wall_us_ + 86'400 * kSecond;
  instants_.begin(stamped_us);
  pass(7 * kSecond);
  EXPECT_EQ(instants_.now_us(), stamped_us + 7 * kSecond) << "time goes on";
  EXPECT_LT(instants_.leap_us(), 0);
}

// A standby asks for no time until it leads. What it stood by for is not to be counted twice.
TEST_F(InstantsTest, BeginsAfterALongTimeWhereTheLogIs) {
  pass(86'400 * kSecond);
  instants_.begin(wall_us_ - kSecond / 2);
  EXPECT_EQ(instants_.now_us(), wall_us_);
  pass(kSecond);
  EXPECT_EQ(instants_.now_us(), wall_us_);
  EXPECT_EQ(instants_.leap_us(), 0);
}

TEST_F(InstantsTest, AClockThatIsAheadOfWhatWasHeardHasLeapt) {
  const std::int64_t right_by_us = 86'400 * kSecond;
  pass(100 * kSecond);
  instants_.heard(wall_us_ - right_by_us - kSecond / 100, kSecond / 50);
  pass(500 * kSecond);  // nobody wrote
  instants_.begin(wall_us_ - right_by_us - 500 * kSecond);
  pass(7 * kSecond);
  EXPECT_EQ(instants_.now_us(), wall_us_ - right_by_us - kSecond / 100);
  EXPECT_EQ(instants_.leap_us(), right_by_us + kSecond / 100);
  EXPECT_FALSE(instants_.slewing()) << "until somebody says that the clock is right";
}

// A standby's certificates are of the time that its leader has.
TEST_F(InstantsTest, WhereTheClockDoesNotAgreeTheTimeIsWhatWasHeard) {
  for (const std::int64_t ahead_us : {86'400 * kSecond, -30 * 86'400 * kSecond}) {
    EXPECT_EQ(instants_.agreed_us(), wall_us_) << "nothing was heard";
    instants_.heard(wall_us_ - ahead_us, kSecond / 50);
    pass(5 * kSecond);
    EXPECT_EQ(instants_.agreed_us(), wall_us_ - ahead_us);
    instants_.begin(0);
    EXPECT_EQ(instants_.now_us(), wall_us_ - ahead_us) << "it leads with that";
    wall_us_ -= ahead_us;
  }
}

// As when the leader's clock is set back, or a virtual machine stood still for two hours.
TEST_F(InstantsTest, WhatWasHeardLastCountsInBothDirections) {
  for (const std::int64_t ahead_us : {300 * kSecond, -7200 * kSecond}) {
    instants_.heard(wall_us_, kSecond / 50);
    pass(3600 * kSecond);
    instants_.heard(wall_us_ - ahead_us, kSecond / 50);
    pass(1800 * kSecond);
    Instants next = instants_;
    next.begin(wall_us_ - ahead_us - 1800 * kSecond);
    pass(kSecond);
    EXPECT_NEAR(static_cast<double>(next.now_us()), static_cast<double>(wall_us_ - ahead_us), 2e3);
  }
}

TEST_F(InstantsTest, AStampThatMayBeLateSaysNothingAgainstTheClock) {
  pass(kSecond);
  instants_.heard(wall_us_ - 40 * kSecond, 41 * kSecond);  // read with a long log
  pass(3600 * kSecond);
  instants_.begin(wall_us_ - 3640 * kSecond);
  EXPECT_EQ(instants_.now_us(), wall_us_);
  EXPECT_EQ(instants_.leap_us(), 0);
}

TEST_F(InstantsTest, GoesOnWhereItsFormerLifeWas) {
  Instants next([this] { return wall_us_; }, [this] { return steady_us_; },
                wall_us_ - 7200 * kSecond);
  pass(3 * kSecond);
  EXPECT_EQ(next.now_us(), wall_us_ - 7200 * kSecond);
  EXPECT_EQ(next.leap_us(), 7200 * kSecond);
}

}  // namespace
}  // namespace dove::controller
