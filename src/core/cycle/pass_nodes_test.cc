#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

class PassNodes : public testing::Test {
 protected:
  LifeStage life() { return cluster.node(1).life; }
  void ask(NodeAction action) {
    cluster.tell(NodeActionRequested{NodeId(1), action, false, {}, "asked"});
    decide_for<MoveNode>(cluster);
  }

  TestCluster cluster{2};
};

TEST_F(PassNodes, ARebootWaitsUntilNothingRunsAndEndsWithATest) {
  const JobId job = cluster.submit_and_start();
  ask(NodeAction::kReboot);
  EXPECT_EQ(life(), LifeStage::kDraining);
  cluster.end(job);
  decide_for<MoveNode>(cluster);
  EXPECT_EQ(life(), LifeStage::kRepair);
  cluster.tell(NodeConnected{NodeId(1), "another boot"});
  decide_for<MoveNode>(cluster);
  EXPECT_EQ(life(), LifeStage::kTest);
  cluster.tell(NodeTested{NodeId(1), true, ""});
  decide_for<MoveNode>(cluster);
  EXPECT_EQ(life(), LifeStage::kProduction);
}

TEST_F(PassNodes, AFaultMakesANodeSuspectUntilItIsRepaired) {
  cluster.tell(FindingReported{NodeId(1), {"xid", Severity::kFault, Remedy::kReset, -1, "79"}});
  decide_for<MoveNode>(cluster);
  EXPECT_EQ(life(), LifeStage::kRepair);
  EXPECT_EQ(cluster.node(1).remedy, Remedy::kReset);
}

TEST_F(PassNodes, OneNodeIsAwayAtATime) {
  ask(NodeAction::kUpgrade);
  cluster.tell(NodeActionRequested{NodeId(2), NodeAction::kUpgrade, false, {}, "asked"});
  decide_for<MoveNode>(cluster);
  EXPECT_EQ(cluster.node(2).life, LifeStage::kProduction);
}

TEST_F(PassNodes, ADrainedNodeComesBackWhenSomebodyResumesIt) {
  ask(NodeAction::kDrain);
  EXPECT_EQ(life(), LifeStage::kDraining);
  ask(NodeAction::kResume);
  EXPECT_EQ(life(), LifeStage::kProduction);
}

}  // namespace
}  // namespace dove::core
