#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"
#include "core/state/invariants.h"

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

class PassFinishStopping : public testing::TestWithParam<StopReason> {};

TEST_P(PassFinishStopping, RunsAgainAsSomebodyAskedMeanwhile) {
  TestCluster cluster(1);
  cluster.tell(LevelRaised{kNewestLevel});
  IdleRule rule;
  rule.name = "all";
  cluster.declare(rule);
  const JobId job = cluster.submit_and_start({.limit_s = 10, .preempt = Preempt::kCheckpoint});
  cluster.tell(IdleObserved{job, 1, IdleCheck::kInput, "all", "no input", seconds(5)});
  cluster.pass(seconds(9));
  cluster.decided(Stop{job, 1, GetParam()});
  cluster.tell(JobRequeueRequested{job});
  cluster.tell(JobHeld{job});
  cluster.leave(job);
  const auto again = decide_for<Requeue>(cluster);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].reason, StopReason::kRequeued);
  EXPECT_TRUE(cluster.job(job).held);
  EXPECT_FALSE(cluster.state.idle.contains(job));
  const bool had_all = GetParam() == StopReason::kTimeLimit;
  EXPECT_EQ(cluster.job(job).ran_before, had_all ? Span{} : seconds(9));
  cluster.tell(JobReleased{job});
  EXPECT_EQ(launched(cluster), std::vector{job});
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(PassFinish, PassFinishStopping,
                         testing::Values(StopReason::kFinished, StopReason::kTimeLimit,
                                         StopReason::kIdle, StopReason::kRequeued));

TEST(PassFinish, AJobThatIsCancelledOnItsWayBackEnds) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start({.limit_s = 10});
  cluster.decided(Stop{job, 1, StopReason::kTimeLimit});
  cluster.tell(JobRequeueRequested{job});
  cluster.tell(JobCancelRequested{job});
  cluster.leave(job);
  const auto ended = decide_for<EndJob>(cluster);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome, Outcome::kCancelled);
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
