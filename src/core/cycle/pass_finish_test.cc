#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

TEST(PassFinish, AnAttemptThatIsOverEndsItsJobWithTheHighestCode) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  cluster.leave(job, 3);
  const auto ended = decide_for<EndJob>(cluster);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome, Outcome::kFailed);
  EXPECT_EQ(ended[0].exit_code, 3);
}

TEST(PassFinish, AFailureIsTriedAgainWhileThereAreRetries) {
  TestCluster cluster(1);
  JobSpec spec = spec_of({});
  spec.retries_max = 1;
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  cluster.start(job);
  cluster.leave(job, 1);
  const auto again = decide_for<Requeue>(cluster);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].counted);
}

TEST(PassFinish, OneFailedTaskStopsTheGang) {
  TestCluster cluster(2);
  const JobId gang = cluster.submit_and_start({.tasks = 2}, {1, 2});
  TaskExit failed;
  failed.exit_code = 1;
  cluster.tell(PlacementEnded{gang, 1, NodeId(1), {failed}, 0, 0});
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u);
  EXPECT_EQ(stopped[0].reason, StopReason::kTaskFailed);
}

TEST(PassFinish, AJobThatLostItsNodeRunsAgainUncounted) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  cluster.tell(NodeRemoved{NodeId(1)});
  const auto again = decide_for<Requeue>(cluster);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].job, job);
  EXPECT_FALSE(again[0].counted);
}

TEST(PassFinish, ACancelledJobThatWaitsEndsAtOnce) {
  TestCluster cluster(0);
  const JobId job = cluster.submit();
  cluster.tell(JobCancelRequested{job});
  const auto ended = decide_for<EndJob>(cluster);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome, Outcome::kCancelled);
}

}  // namespace
}  // namespace dove::core
