#include "backends/native/sync_pace.h"

#include <gtest/gtest.h>

namespace dove::backends {
namespace {

constexpr std::int64_t kNow_us = 5'000'000;

TEST(SyncPace, AFewComeAtOnce) {
  SyncPace pace;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(pace.next_us(kNow_us), 0);
  EXPECT_EQ(pace.next_us(kNow_us), SyncPace::kLeast_us);
  EXPECT_EQ(pace.next_us(kNow_us + 1'000'000), 0) << "that was long ago";
}

TEST(SyncPace, ThousandsAreSpreadAndNobodyWaitsForEver) {
  SyncPace pace;
  std::int64_t last_us = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t wait_us = pace.next_us(kNow_us);
    EXPECT_GE(wait_us, last_us);
    last_us = wait_us;
  }
  EXPECT_EQ(last_us, 9'999 * SyncPace::kEach_us);
  for (int i = 0; i < 100'000; ++i) last_us = pace.next_us(kNow_us);
  EXPECT_LE(last_us, SyncPace::kMost_us);
}

}  // namespace
}  // namespace dove::backends
