#include "core/state/running/stop_time.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(StopTime, OnlyAJobThatSavesItsWorkIsGivenTimeForThat) {
  JobSpec spec = spec_of({});
  spec.kill_grace = seconds(30);
  spec.checkpoint_grace = seconds(100);
  EXPECT_EQ(stop_time(spec), seconds(32));
  spec.preempt = Preempt::kCheckpoint;
  EXPECT_EQ(stop_time(spec), seconds(132));
  spec.preempt = Preempt::kNone;
  spec.checkpoint_signal = 10;
  EXPECT_EQ(stop_time(spec), seconds(132));
}

TEST(StopTime, ItIsToldToEndThatLongBefore) {
  JobSpec spec = spec_of({});
  spec.kill_grace = seconds(30);
  EXPECT_EQ(latest_stop(spec, Instant{} + seconds(100)), Instant{} + seconds(68));
  EXPECT_EQ(latest_stop(spec, Instant{} + seconds(10)), Instant{}) << "it was missed anyway";
  EXPECT_EQ(latest_stop(spec, kNever), kNever);
}

}  // namespace
}  // namespace dove::core
