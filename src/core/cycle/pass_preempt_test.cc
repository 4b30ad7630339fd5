#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

TEST(PassPreempt, StopsALowerJobThatAllowsItAndPromisesItsPlaces) {
  TestCluster cluster(1, {.gpus = 2});
  const JobId low = cluster.submit_and_start({.gpus = 2, .preempt = Preempt::kRestart});
  const JobId high = cluster.submit({.gpus = 2, .priority = 5});
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u);
  EXPECT_EQ(stopped[0].job, low);
  EXPECT_EQ(stopped[0].beneficiary, high);
  EXPECT_EQ(stopped[0].purpose, Purpose::kStarvation);
  EXPECT_TRUE(cluster.state.promises.at(high).cleared);
}

TEST(PassPreempt, LeavesThoseAloneWhoDoNotAllowIt) {
  TestCluster cluster(1, {.gpus = 2});
  cluster.submit_and_start({.gpus = 2});
  cluster.submit({.gpus = 2, .priority = 5});
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
}

TEST(PassPreempt, StopsNoMoreThanIsNeeded) {
  TestCluster cluster(1, {.gpus = 4});
  for (int i = 0; i < 4; ++i) {
    cluster.submit_and_start({.gpus = 1, .preempt = Preempt::kRestart});
  }
  cluster.submit({.gpus = 2, .priority = 5});
  EXPECT_EQ(decide_for<Stop>(cluster).size(), 2u);
}

TEST(PassPreempt, IsOffWhereTheClusterSaysSo) {
  TestCluster cluster(1, {.gpus = 2});
  ClusterSettings settings;
  settings.preemption = false;
  cluster.declare(settings);
  cluster.submit_and_start({.gpus = 2, .preempt = Preempt::kRestart});
  cluster.submit({.gpus = 2, .priority = 5});
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
}

}  // namespace
}  // namespace dove::core
