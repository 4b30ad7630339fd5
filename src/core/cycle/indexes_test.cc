#include "core/cycle/indexes.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class IndexesTest : public testing::Test {
 protected:
  void look() { prepare(cluster.state, indexes, plain_policies(), {}); }

  TestCluster cluster{2, {.gpus = 2}};
  Indexes indexes;
};

TEST_F(IndexesTest, CountWhatThePoolHasFree) {
  look();
  EXPECT_EQ(indexes.pools.at("default").free.gpus_milli, 4000);
  EXPECT_EQ(indexes.total.gpus_milli, 4000);
  cluster.submit_and_start({.gpus = 1});
  look();
  EXPECT_EQ(indexes.pools.at("default").free.gpus_milli, 3000);
  EXPECT_EQ(indexes.total.gpus_milli, 4000);
}

TEST_F(IndexesTest, ANodeThatTakesNoWorkIsInNoPool) {
  look();
  cluster.tell(NodeDisconnected{NodeId(2), true});
  look();
  EXPECT_EQ(indexes.pools.at("default").nodes.size(), 1u);
  EXPECT_EQ(indexes.total.gpus_milli, 2000);
}

TEST_F(IndexesTest, KnowWhoMayBeStoppedAndWhoIsBeing) {
  const JobId job = cluster.submit_and_start({.preempt = Preempt::kRestart});
  look();
  EXPECT_TRUE(indexes.preemptible.contains(job));
  cluster.decided(Stop{job, 1, StopReason::kCancelled});
  look();
  EXPECT_FALSE(indexes.preemptible.contains(job));
  EXPECT_TRUE(indexes.stopping.contains(job));
}

TEST_F(IndexesTest, AreBuiltAnewWhenSomethingIsDeclared) {
  look();
  Pool half;
  half.name = "half";
  half.nodes = {"n1"};
  cluster.declare(half);
  look();
  EXPECT_EQ(indexes.pools.at("half").nodes.size(), 1u);
}

TEST_F(IndexesTest, OfOneStateDoNotServeItsFork) {
  look();
  TestCluster fork = cluster;
  fork.submit_and_start({.gpus = 2});
  prepare(fork.state, indexes, plain_policies(), {});
  EXPECT_EQ(indexes.pools.at("default").free.gpus_milli, 2000);
}

}  // namespace
}  // namespace dove::core
