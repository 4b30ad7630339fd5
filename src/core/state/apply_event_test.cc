#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

TEST(ApplyEvent, AnArrayIsAJobForEachIndex) {
  TestCluster cluster;
  JobSpec spec = spec_of({});
  spec.array.indices = {3, 5};
  const JobId first = cluster.submit(spec);
  EXPECT_EQ(cluster.state.jobs.size(), 2u);
  EXPECT_EQ(cluster.job(JobId(first.value + 1)).array_index, 5);
  EXPECT_EQ(cluster.job(JobId(first.value + 1)).array, first);
}

TEST(ApplyEvent, WhatIsUnknownOrOverChangesNothing) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  cluster.tell(PlacementEnded{job, 7, NodeId(1), {}, 0, 0});  // of no attempt of its own
  cluster.tell(JobCancelRequested{JobId(99)});
  cluster.tell(NodeDisconnected{NodeId(9), true});
  EXPECT_EQ(cluster.job(job).attempts[0].placements[0].stage, PlacementStage::kStarted);
  cluster.end(job);
  cluster.tell(PlacementEnded{job, 1, NodeId(1), {}, 0, 0});
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
}

TEST(ApplyEvent, AnExitIsCountedOnce) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  TaskExit exit;
  exit.exit_code = 3;
  cluster.tell(TaskEnded{job, 1, NodeId(1), exit});
  cluster.leave(job, 3);
  EXPECT_EQ(cluster.job(job).attempts[0].exits.size(), 1u);
}

TEST(ApplyEvent, ANewBootEndsWhatRanBefore) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  cluster.tell(NodeConnected{NodeId(1), "another boot"});
  EXPECT_TRUE(cluster.node(1).jobs.empty());
  EXPECT_EQ(cluster.job(job).attempts[0].stop_reason, StopReason::kNodeLost);
}

TEST(ApplyEvent, AnEndedJobThatIsRequeuedWaitsAgain) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  cluster.end(job, Outcome::kFailed);
  cluster.tell(JobRequeueRequested{job});
  EXPECT_EQ(cluster.job(job).phase, JobPhase::kWaiting);
  EXPECT_EQ(cluster.state.usage.jobs_waiting, 1);
  EXPECT_EQ(cluster.job(job).outcome, Outcome::kNone);
}

TEST(ApplyEvent, AnEndedJobThatIsRequeuedHasAllItsTimeAgain) {
  TestCluster cluster(1);
  const auto run_and_requeue = [&] {
    const JobId job = cluster.submit_and_start({.limit_s = 3600, .preempt = Preempt::kCheckpoint});
    cluster.pass(seconds(3600));
    cluster.end(job, Outcome::kTimedOut);
    cluster.tell(JobRequeueRequested{job});
    return cluster.job(job).ran_before;
  };
  EXPECT_EQ(run_and_requeue(), seconds(3600)) << "as older programs fold it";
  cluster.tell(LevelRaised{kNewestLevel});
  EXPECT_EQ(run_and_requeue(), Span{});
}

TEST(ApplyEvent, APoolMayGiveWholeNodes) {
  TestCluster cluster(1);
  Pool pool;
  pool.name = "whole";
  pool.nodes = {"*"};
  pool.exclusive = true;
  cluster.declare(pool);
  JobSpec spec = spec_of({});
  spec.pool = "whole";
  EXPECT_TRUE(cluster.job(cluster.submit(spec)).spec->exclusive);
}

TEST(ApplyEvent, TimeNeverGoesBack) {
  TestCluster cluster;
  EXPECT_DEATH(begin_batch(cluster.state, Instant{1}, Epoch(1)), "time never goes back");
}

}  // namespace
}  // namespace dove::core
