#include "core/executors/drains.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// Slurm is on n1 and n2, and not on n3.
class WantedDrains : public testing::Test {
 protected:
  WantedDrains() {
    cluster.declare(Executor{"slurm", "", {"n[1-2]"}, true, {}});
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }
  void drain(const char* name, const char* reason) {
    NodeDeclaration declared;
    declared.name = name;
    declared.drained = true;
    declared.drain_reason = reason;
    cluster.declare(declared);
  }
  void find(const char* check, Severity severity, std::int32_t device = -1) {
    cluster.tell(FindingReported{NodeId(1), {check, severity, Remedy::kNone, device, "broken"}});
  }
  // "n1: fan", for each.
  std::vector<std::string> drains(const std::string& executor = "slurm") const {
    std::vector<std::string> found;
    for (const WantedDrain& one : wanted_drains(cluster.state, executor)) {
      found.push_back(fmt::format("{}: {}", one.node->name, one.why));
    }
    return found;
  }

  using Drains = std::vector<std::string>;
  TestCluster cluster{3};
};

TEST_F(WantedDrains, NodesInProductionAreOpen) {
  EXPECT_EQ(drains(), Drains{});
  cluster.state.find_node(NodeId(1))->life = LifeStage::kOnboard;
  EXPECT_EQ(drains(), Drains{});
}

TEST_F(WantedDrains, ThoseThatAPersonDrainedHaveTheReason) {
  drain("n2", "");
  drain("n1", "fan");
  drain("n3", "not there");
  EXPECT_EQ(drains(), (Drains{"n1: fan", "n2: drained"}));
  EXPECT_EQ(drains("k8s"), Drains{});
}

TEST_F(WantedDrains, AFindingThatClosesTheNodeIsToldBeforeAPersonsReason) {
  find("xid", Severity::kFault, 0);
  EXPECT_EQ(drains(), Drains{"n1: xid of device 0: broken"}) << "a node without such a device";
  drain("n1", "fan");
  find("disk", Severity::kFault);
  EXPECT_EQ(drains(), Drains{"n1: disk: broken"});
}

TEST_F(WantedDrains, AFindingOfOneDeviceOrAWarningClosesNoNode) {
  cluster.state.find_node(NodeId(1))->inventory = inventory_of({.gpus = 2});
  find("xid", Severity::kFault, 0);
  find("disk", Severity::kWarning);
  EXPECT_EQ(drains(), Drains{});
}

TEST_F(WantedDrains, NodesThatAreTakenOutOfProductionAreClosed) {
  Node& node = *cluster.state.find_node(NodeId(1));
  for (const LifeStage stage :
       {LifeStage::kDraining, LifeStage::kTest, LifeStage::kSuspect, LifeStage::kRepair}) {
    node.life = stage;
    node.life_why.clear();
    EXPECT_EQ(drains(), Drains{"n1: under repair"});
    node.life_why = "reboot";
    EXPECT_EQ(drains(), Drains{"n1: reboot"});
  }
  node.removed = true;
  EXPECT_EQ(drains(), Drains{});
}

TEST_F(WantedDrains, WhatTheExecutorKnowsItselfIsNotToldIt) {
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kDrained, "fan"});
  cluster.tell(NodeDisconnected{NodeId(2), /*silent=*/true});
  EXPECT_EQ(drains(), Drains{});
}

}  // namespace
}  // namespace dove::core
