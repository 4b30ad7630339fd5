#include "core/state/fold.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(Fold, AGangWaitsAtTheBarrierUntilAllArePrepared) {
  TestCluster cluster(2);
  const JobId gang = cluster.submit({.tasks = 2});
  cluster.launch(gang, {1, 2});
  cluster.tell(PlacementPrepared{gang, 1, NodeId(1)});
  EXPECT_EQ(cluster.job(gang).attempts[0].stage, Stage::kPreparing);
  cluster.tell(PlacementPrepared{gang, 1, NodeId(2)});
  EXPECT_EQ(cluster.job(gang).attempts[0].stage, Stage::kBarrier);
}

TEST(Fold, OneAloneNeedsNoBarrier) {
  TestCluster cluster(1);
  const JobId job = cluster.submit();
  cluster.launch(job);
  cluster.tell(PlacementPrepared{job, 1, NodeId(1)});
  EXPECT_EQ(cluster.job(job).attempts[0].stage, Stage::kStarting);
}

TEST(Fold, ALostNodeFreesItselfAndIsAvoided) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  lose_placements(cluster.state, *cluster.state.find_node(NodeId(1)));
  EXPECT_EQ(cluster.node(1).cores_free.size(), 8u);
  EXPECT_EQ(cluster.job(job).nodes_avoided, std::vector<NodeId>{NodeId(1)});
  EXPECT_EQ(cluster.job(job).attempts[0].stop_reason, StopReason::kNodeLost);
}

TEST(Fold, RequeuesInARowAreCountedUntilTheJobGetsOn) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  const auto after = [&](StopReason why) {
    return requeues_after(cluster.state, cluster.job(job), why);
  };
  EXPECT_EQ(after(StopReason::kNodeLost), 1);
  EXPECT_EQ(after(StopReason::kPreempted), 0);  // its own doing, or its owner's
  cluster.pass(kProgress);
  EXPECT_EQ(after(StopReason::kNodeLost), 0);
}

}  // namespace
}  // namespace dove::core
