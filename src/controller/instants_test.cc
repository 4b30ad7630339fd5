#include "controller/instants.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dove::controller
