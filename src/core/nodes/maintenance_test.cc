#include "core/nodes/maintenance.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/health.h"

namespace dove::core {
namespace {

TEST(Maintenance, ANodeInProductionWantsNone) {
  TestCluster cluster(1);
  EXPECT_FALSE(wants_maintenance(cluster.node(1)));
  cluster.tell(NodeActionRequested{NodeId(1), NodeAction::kDrain, false, {}, "work on it"});
  EXPECT_TRUE(wants_maintenance(cluster.node(1)));
}

TEST(Maintenance, AJobIsStoppedInTimeForTheNodeToBeFreeWhenItIsWanted) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  const Instant by = cluster.state.now + seconds(1000);
  cluster.tell(NodeActionRequested{NodeId(1), NodeAction::kDrain, false, by, ""});
  EXPECT_EQ(stop_due_at(cluster.state, cluster.node(1), cluster.job(job)), kNever);
  cluster.decided(MoveNode{NodeId(1), LifeStage::kDraining, Remedy::kNone, "", ""});
  EXPECT_EQ(stop_due_at(cluster.state, cluster.node(1), cluster.job(job)),
            cluster.state.now + seconds(1000 - 30 - 2));
  EXPECT_EQ(maintenance_wake(cluster.state, cluster.node(1)), cluster.state.now + seconds(968));
}

TEST(Maintenance, AnAgentThatDoesNotAnswerIsNotAwaitedForEver) {
  TestCluster cluster(1);
  cluster.decided(MoveNode{NodeId(1), LifeStage::kTest, Remedy::kNone, "", ""});
  EXPECT_EQ(maintenance_wake(cluster.state, cluster.node(1)),
            cluster.state.now + kMaintenance_deadline);
}

TEST(Maintenance, TwoWitnessesBlameANode) {
  TestCluster cluster(3);
  Node& node = *cluster.state.find_node(NodeId(1));
  vote(cluster.state, node, NodeId(2));
  EXPECT_EQ(blame(cluster.state, node), std::nullopt);
  vote(cluster.state, node, NodeId(3));
  EXPECT_EQ(blame(cluster.state, node), "the network to it failed from n2, n3");
}

TEST(Maintenance, AJobThatIsAWitnessIsNamed) {
  TestCluster cluster(3);
  Node& node = *cluster.state.find_node(NodeId(1));
  vote(cluster.state, node, NodeId(2), JobId(7));
  vote(cluster.state, node, NodeId(3));
  EXPECT_EQ(blame(cluster.state, node), "the network to it failed from n2 (says job 7), n3");
}

TEST(Maintenance, ASwitchIsBlamedForNodesThatAreCutOffTogether) {
  TestCluster cluster(4);
  for (const char* name : {"n1", "n2"}) {
    NodeDeclaration declared;
    declared.name = name;
    declared.topology = {{"rack", "r1"}};
    cluster.declare(declared);
  }
  for (const std::uint32_t number : {1u, 2u}) {
    Node& node = *cluster.state.find_node(NodeId(number));
    vote(cluster.state, node, NodeId(3));
    vote(cluster.state, node, NodeId(4));
  }
  EXPECT_EQ(blamed_unit(cluster.state, cluster.node(1)), (TopologyUnit{"rack", "r1"}));
  EXPECT_EQ(blame(cluster.state, cluster.node(1)), std::nullopt);
}

}  // namespace
}  // namespace dove::core
