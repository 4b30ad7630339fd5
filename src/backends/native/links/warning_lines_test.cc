#include "backends/native/links/warning_lines.h"

#include <gtest/gtest.h>

namespace dove::backends {
namespace {

constexpr Instant kNow{1'795'465'800'000'000};  // 2026-11-23 20:30:00 UTC

TEST(WarningLines, AnIdleSessionIsToldHowToGoOn) {
  const Event idle = IdleObserved{
      JobId{7}, 1, IdleCheck::kInput, "all", "no input for 1 h (limit 1 h)", seconds(600)};
  const WarningLine line = warning_line(idle, kNow);
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->first, JobId{7});
  EXPECT_EQ(
      line->second,
      "job 7 is stopped at 20:40:00 UTC: no input for 1 h (limit 1 h); use it, or keep it: dove "
      "keep 7");
}

TEST(WarningLines, ALifetimeCannotBePutOff) {
  const Event old =
      IdleObserved{JobId{7}, 1, IdleCheck::kLifetime, "all", "it runs for 12 h", seconds(60)};
  EXPECT_EQ(warning_line(old, kNow)->second,
            "job 7 ends at 20:31:00 UTC: it runs for 12 h; save your work");
}

TEST(WarningLines, AStopIsToldWithItsCause) {
  Stop stop;
  stop.job = JobId{7};
  stop.reason = StopReason::kTimeLimit;
  EXPECT_EQ(warning_line(Decision(stop))->second, "job 7 stops now: it has reached its time limit");
  // That it ends by itself is no news to whoever is in it.
  stop.reason = StopReason::kFinished;
  EXPECT_FALSE(warning_line(Decision(stop)).has_value());
  EXPECT_FALSE(warning_line(Event(TimeReached{}), kNow).has_value());
}

}  // namespace
}  // namespace dove::backends
