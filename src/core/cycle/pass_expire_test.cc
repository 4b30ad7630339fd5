#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"
#include "core/cycle/next_wake.h"
#include "core/nodes/contact.h"
#include "core/place/reservation.h"

namespace dove::core {
namespace {

TEST(PassExpire, StopsAJobAtItsTimeLimitAndNotBefore) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start({.limit_s = 60});
  cluster.pass(seconds(59));
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
  cluster.pass(seconds(1));
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u);
  EXPECT_EQ(stopped[0].job, job);
  EXPECT_EQ(stopped[0].reason, StopReason::kTimeLimit);
}

// Somebody may have given it more time there: `scontrol update TimeLimit=`.
TEST(PassExpire, TheLimitOfAJobOfAnExecutorsUsersIsTheExecutorsToEnforce) {
  TestCluster cluster(1);
  JobSpec spec = spec_of({.limit_s = 60});
  spec.executor = "slurm";
  spec.foreign_job = "5";
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  cluster.start(job);
  EXPECT_LT(places_free_at(cluster.state, cluster.job(job)), kNever) << "it is planned by";
  cluster.pass(seconds(120));
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
}

TEST(PassExpire, AnOrderThatIsNotAnsweredHasFailed) {
  TestCluster cluster(2);
  const JobId job = cluster.submit();
  cluster.launch(job);
  cluster.pass(cluster.state.settings.effect_deadline);
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u);
  EXPECT_EQ(stopped[0].reason, StopReason::kLaunchFailed);
  EXPECT_EQ(cluster.job(job).nodes_avoided, std::vector<NodeId>{NodeId(1)});
}

TEST(PassExpire, ANodeIsLostWhenItsFenceIsOver) {
  TestCluster cluster(1);
  cluster.submit_and_start();
  cluster.tell(NodeDisconnected{NodeId(1), false});
  const Instant lost = lost_at(cluster.state, cluster.node(1));
  cluster.pass(Span{(lost - cluster.state.now).us - 1});
  EXPECT_TRUE(decide_for<DeclareNodeLost>(cluster).empty());
  cluster.pass(Span{1});
  EXPECT_EQ(decide_for<DeclareNodeLost>(cluster).size(), 1u);
}

TEST(PassExpire, AnIdleJobIsStoppedWhenItsWarningIsOverAndEndsForIt) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  cluster.tell(IdleObserved{job, 1, IdleCheck::kUse, "all", "GPU at 0 %", seconds(60)});
  cluster.pass(Span{seconds(60).us - 1});
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
  EXPECT_EQ(wake_at(cluster.state), cluster.state.now + Span{1});
  cluster.pass(Span{1});
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u);
  EXPECT_EQ(stopped[0].reason, StopReason::kIdle);
  cluster.leave(job);
  const auto ended = decide_for<EndJob>(cluster);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome, Outcome::kStoppedIdle);
}

TEST(PassExpire, AWaitingJobMissesItsDeadline) {
  TestCluster cluster(0);
  JobSpec spec = spec_of({.limit_s = 10});
  spec.deadline = cluster.state.now + seconds(20);
  cluster.submit(spec);
  cluster.pass(seconds(11));
  const auto ended = decide_for<EndJob>(cluster);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome, Outcome::kDeadlineMissed);
}

}  // namespace
}  // namespace dove::core
