#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

TEST(PassBarrier, AGangStartsOnceItIsPreparedEverywhere) {
  TestCluster cluster(2);
  const JobId gang = cluster.submit({.tasks = 2});
  cluster.launch(gang, {1, 2});
  cluster.tell(PlacementPrepared{gang, 1, NodeId(1)});
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
  cluster.tell(PlacementPrepared{gang, 1, NodeId(2)});
  const auto started = decide_for<Start>(cluster);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].job, gang);
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
}

class WithPlaceholders : public testing::Test {
 protected:
  WithPlaceholders() {
    cluster.declare(Executor{"slurm", "", {"n1"}, true, {}});
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }
  void move(JobId job, PlaceholderStage to) {
    const auto number = static_cast<AttemptNumber>(cluster.job(job).attempts.size());
    cluster.tell(PlaceholderMoved{"slurm", job, number, NodeId(1), to, "1300", ""});
  }
  // Launched and prepared on n1.
  JobId prepared() {
    const JobId job = cluster.submit();
    cluster.launch(job);
    cluster.tell(PlacementPrepared{job, 1, NodeId(1)});
    return job;
  }

  TestCluster cluster{2};
};

TEST_F(WithPlaceholders, NothingStartsBeforeTheyAreConfirmed) {
  const JobId job = prepared();
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
  move(job, PlaceholderStage::kAsked);
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
  move(job, PlaceholderStage::kConfirmed);
  EXPECT_EQ(decide_for<Start>(cluster).size(), 1u);
}

TEST_F(WithPlaceholders, AConfirmedOneWaitsForThePreparation) {
  const JobId job = cluster.submit();
  cluster.launch(job);
  move(job, PlaceholderStage::kConfirmed);
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
  cluster.tell(PlacementPrepared{job, 1, NodeId(1)});
  EXPECT_EQ(decide_for<Start>(cluster).size(), 1u);
}

TEST_F(WithPlaceholders, OnlyTheNodesOfAnExecutorWait) {
  const JobId gang = cluster.submit({.tasks = 2});
  cluster.launch(gang, {1, 2});
  cluster.tell(PlacementPrepared{gang, 1, NodeId(1)});
  cluster.tell(PlacementPrepared{gang, 1, NodeId(2)});
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
  move(gang, PlaceholderStage::kConfirmed);
  EXPECT_EQ(decide_for<Start>(cluster).size(), 1u);
}

TEST_F(WithPlaceholders, ARefusedOneIsPlacedElsewhereAfterAWait) {
  const JobId job = prepared();
  move(job, PlaceholderStage::kRefused);
  const auto stops = decide_for<Stop>(cluster);
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].reason, StopReason::kPlaceholder);
  cluster.tell(PlacementEnded{job, 1, NodeId(1), {}, 0, 0});
  const auto requeues = decide_for<Requeue>(cluster);
  ASSERT_EQ(requeues.size(), 1u);
  EXPECT_FALSE(requeues[0].counted);
  EXPECT_EQ(cluster.job(job).requeues_in_a_row, 0);
  EXPECT_TRUE(launched(cluster).empty()) << "not at once";
  cluster.pass(seconds(1));
  const auto launches = decide_for<Launch>(cluster);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].placements[0]->node, NodeId(2));
}

TEST_F(WithPlaceholders, WithoutAnAnswerItIsPlacedAnewInTheEnd) {
  const JobId job = prepared();
  move(job, PlaceholderStage::kAsked);
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
  cluster.pass(cluster.state.settings.effect_deadline);
  const auto stops = decide_for<Stop>(cluster);
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].reason, StopReason::kPlaceholder);
  EXPECT_EQ(cluster.job(job).nodes_avoided, std::vector<NodeId>{NodeId(1)});
}

TEST_F(WithPlaceholders, AnExecutorThatIsDeletedHoldsNobodyUp) {
  prepared();
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  EXPECT_EQ(decide_for<Start>(cluster).size(), 1u);
}

// A job that the executor runs on n1.
class RunByExecutor : public WithPlaceholders {
 protected:
  RunByExecutor() {
    JobSpec spec = spec_of({});
    spec.executor = "slurm";
    job = cluster.submit(spec);
    cluster.launch(job);
  }
  JobId job;
};

TEST_F(RunByExecutor, WithoutAnAnswerItIsPlacedAnewAndNoLaunchHasFailed) {
  cluster.pass(cluster.state.settings.effect_deadline);
  const auto stops = decide_for<Stop>(cluster);
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].reason, StopReason::kPlaceholder);
}

TEST_F(RunByExecutor, AStartThatIsNotHeardOfFails) {
  move(job, PlaceholderStage::kConfirmed);
  cluster.tell(PlacementPrepared{job, 1, NodeId(1)});
  EXPECT_EQ(decide_for<Start>(cluster).size(), 1u);
  cluster.pass(cluster.state.settings.effect_deadline);
  const auto stops = decide_for<Stop>(cluster);
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].reason, StopReason::kLaunchFailed);
}

}  // namespace
}  // namespace dove::core
