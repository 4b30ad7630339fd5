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

// Ann's limit keeps her next job from starting, and so does Bob on the one node with room for it.
class PassPreemptByLimit : public testing::Test {
 protected:
  PassPreemptByLimit() {
    UserLimit limit;
    limit.name = "ann";
    limit.limits.gpus_milli = 2000;
    cluster.declare(limit);
    JobSpec spec = spec_of({.gpus = 1, .preempt = Preempt::kRestart});
    spec.kill_grace = seconds(600);
    hers = cluster.submit(spec);
    cluster.launch(hers);
    cluster.start(hers);
    cluster.submit_and_start({.gpus = 1, .user = "cid"});
    his = cluster.submit_and_start({.gpus = 2, .user = "bob", .preempt = Preempt::kRestart}, {2});
  }
  JobId submit_high() { return cluster.submit({.gpus = 2, .priority = 5}); }

  TestCluster cluster{2, {.gpus = 2}};
  JobId hers, his;
};

TEST_F(PassPreemptByLimit, ThePromiseWaitsForThoseThatStopElsewhereForALimit) {
  const JobId high = submit_high();
  EXPECT_EQ(decide_for<Stop>(cluster).size(), 2u);
  EXPECT_GE(cluster.state.promises.at(high).start_at, cluster.state.now + seconds(600));
  cluster.leave(his);
  decide_for<Launch>(cluster);
  cluster.pass(seconds(300));
  EXPECT_TRUE(launched(cluster).empty());
  EXPECT_TRUE(cluster.state.promises.contains(high)) << "his place is kept until she is gone";
  cluster.leave(hers);
  EXPECT_EQ(launched(cluster).at(0), high);
}

TEST_F(PassPreemptByLimit, AndForThoseThatWereStoppingAlready) {
  cluster.decided(Stop{hers, 1, StopReason::kPreempted, Purpose::kStarvation, {}});
  const JobId high = submit_high();
  EXPECT_EQ(decide_for<Stop>(cluster).size(), 1u);
  EXPECT_GE(cluster.state.promises.at(high).start_at, cluster.state.now + seconds(600));
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
