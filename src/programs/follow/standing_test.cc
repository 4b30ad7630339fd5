// When a follower's copy is ready to go on from.
#include <gtest/gtest.h>

#include "programs/follow/follower.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kNow_us = 5'000'000'000;
constexpr std::int64_t kHour_us = 3'600'000'000;

Follower::Standing standing(Seq kept, Seq source, std::int64_t whole_us) {
  return {kept, source, whole_us, std::nullopt};
}

TEST(Standing, ACopyThatCatchesUpIsNotCurrent) {
  EXPECT_FALSE(standing(Seq{5}, Seq{9}, 0).is_current(kNow_us)) << "not whole since the start";
  EXPECT_FALSE(standing(Seq{5}, Seq{9}, kNow_us - kHour_us).is_current(kNow_us))
      << "the source was away for an hour";
}

TEST(Standing, ASourceThatIsBusyOrIdleIsFollowed) {
  EXPECT_TRUE(standing(Seq{9}, Seq{9}, kNow_us - kHour_us).is_current(kNow_us));
  EXPECT_TRUE(standing(Seq{5}, Seq{9}, kNow_us - 1'000'000).is_current(kNow_us));
}

TEST(Standing, OneThatIsAwayIsNotFollowed) {
  Follower::Standing away = standing(Seq{9}, Seq{9}, kNow_us);
  away.trouble = Error{ErrorKind::kUnavailable, "source_away", "it does not answer", ""};
  EXPECT_FALSE(away.is_current(kNow_us));
}

}  // namespace
}  // namespace dove::programs
