#include "core/state/running/hang.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class HangTest : public testing::Test {
 protected:
  void silent() {
    cluster.pass(seconds(700));
    cluster.tell(HangObserved{job, 1, NodeId(1), true, 0, 3, 8, seconds(600)});
  }
  void on_hang(OnHang what) {
    ClusterSettings settings;
    settings.on_hang = what;
    cluster.declare(settings);
  }

  TestCluster cluster{1};
  JobId job = cluster.submit_and_start();
};

TEST_F(HangTest, IsAFindingOnTheNodeOfTheSilentRankUntilItEnds) {
  silent();
  ASSERT_EQ(cluster.node(1).findings.size(), 1u);
  EXPECT_EQ(cluster.node(1).findings[0].finding.evidence,
            "job 1: rank 0 is silent at step 8 for 600 s, the other 2 wait for it");
  cluster.tell(HangEnded{job, 1});
  EXPECT_TRUE(cluster.node(1).findings.empty());
  EXPECT_TRUE(cluster.state.hangs.empty());
}

TEST_F(HangTest, TheClusterSaysWhetherTheJobIsStopped) {
  silent();
  EXPECT_EQ(stop_reason_by_hang(cluster.state, cluster.job(job)), StopReason::kNone);
  on_hang(OnHang::kRequeue);
  EXPECT_EQ(stop_reason_by_hang(cluster.state, cluster.job(job)), StopReason::kHung);
}

TEST_F(HangTest, OnlyTheTimeBeforeTheSilenceWasWellSpent) {
  cluster.pass(seconds(100));
  EXPECT_EQ(ran_well(cluster.state, cluster.job(job)), seconds(100));
  silent();
  EXPECT_EQ(ran_well(cluster.state, cluster.job(job)), seconds(200));
}

TEST_F(HangTest, AJobThatIsNotRunningDoesNotHang) {
  cluster.decided(Stop{job, 1, StopReason::kCancelled});
  silent();
  EXPECT_TRUE(cluster.state.hangs.empty());
}

}  // namespace
}  // namespace dove::core
