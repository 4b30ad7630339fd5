#include "core/state/boot/boots.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class Boots : public testing::Test {
 protected:
  std::string may(const char* node) {
    const Result<void> answer = may_boot(cluster.state, node);
    return answer.ok() ? "" : answer.error().code;
  }
  void arm(const char* node, Span within) {
    cluster.tell(BootArmed{node, cluster.state.now + within});
  }
  void give(const char* node) {
    cluster.tell(BootTokenIssued{"t", node, cluster.state.now + seconds(60), "10.0.1.1"});
  }
  void take_back(const char* node) { cluster.tell(BootArmed{node, Instant{}}); }
  // As `dove node reboot n1` does once nothing runs there.
  void is_told_to_reboot() {
    cluster.decided(MoveNode{NodeId(1), LifeStage::kRepair, Remedy::kReboot, "kernel", "ada"});
  }
  void is_expelled() {
    NodeActionRequested expel;
    expel.node = NodeId(1);
    expel.action = NodeAction::kExpel;
    cluster.tell(expel);
  }
  void goes_down() { cluster.tell(NodeDisconnected{NodeId(1), /*silent=*/false}); }

  TestCluster cluster{1};
};

TEST_F(Boots, AnArmedBootGivesOneToken) {
  EXPECT_EQ(may("new"), "boot_not_armed");
  arm("new", seconds(60));
  EXPECT_EQ(may("new"), "");
  give("new");
  EXPECT_EQ(cluster.state.join_tokens.at("t").node_name, "new");
  EXPECT_EQ(may("new"), "boot_used");
  arm("new", seconds(60));
  EXPECT_EQ(may("new"), "") << "the next boot";
  cluster.pass(seconds(60));
  EXPECT_EQ(may("new"), "boot_expired");
}

TEST_F(Boots, AConnectedNodeHasNotBeenBooted) {
  arm("n1", seconds(60));
  EXPECT_EQ(may("n1"), "boot_connected");
  goes_down();
  EXPECT_EQ(may("n1"), "");
}

TEST_F(Boots, ANodeThatWasToldToRebootNeedsNoArming) {
  goes_down();
  EXPECT_EQ(may("n1"), "boot_not_armed");
  is_told_to_reboot();
  EXPECT_EQ(may("n1"), "");
  cluster.pass(seconds(5));
  give("n1");
  EXPECT_EQ(may("n1"), "boot_used") << "one token for each reboot";
  cluster.pass(seconds(5));
  is_told_to_reboot();
  EXPECT_EQ(may("n1"), "") << "the next reboot";
  cluster.state.nodes[NodeId(1)].remedy = Remedy::kReset;
  EXPECT_NE(may("n1"), "") << "its machine runs on";
}

TEST_F(Boots, WhatIsTakenBackIsNotExpected) {
  arm("new", seconds(60));
  give("new");
  EXPECT_TRUE(has_boot_to_take_back(cluster.state, "new")) << "its token may not be spent yet";
  take_back("new");
  EXPECT_EQ(may("new"), "boot_not_armed");
  EXPECT_FALSE(cluster.state.join_tokens.contains("t"));
  EXPECT_FALSE(has_boot_to_take_back(cluster.state, "new"));
  arm("new", seconds(60));
  EXPECT_EQ(may("new"), "");
}

TEST_F(Boots, ARebootThatIsTakenBackGivesNoTokenToo) {
  goes_down();
  is_told_to_reboot();
  cluster.pass(seconds(5));
  give("n1");
  take_back("n1");
  EXPECT_EQ(may("n1"), "boot_not_armed") << "who had the first token is not given another one";
  EXPECT_FALSE(has_boot_to_take_back(cluster.state, "n1"));
  cluster.pass(seconds(5));
  is_told_to_reboot();
  EXPECT_EQ(may("n1"), "") << "the next reboot";
  EXPECT_TRUE(has_boot_to_take_back(cluster.state, "n1"));
  take_back("n1");
  EXPECT_EQ(may("n1"), "boot_not_armed") << "its token was not asked for yet";
}

TEST_F(Boots, AnExpelledNodeIsNotExpectedAnyMore) {
  arm("n1", seconds(60));
  is_expelled();
  EXPECT_EQ(may("n1"), "boot_not_armed");
}

TEST_F(Boots, AnExpelledNodeIsNotExpectedForTheRebootThatItWasToldToDo) {
  goes_down();
  is_told_to_reboot();
  cluster.state.nodes[NodeId(1)].awaited = true;  // the controller has started anew
  give("n1");
  is_expelled();
  ASSERT_FALSE(cluster.node(1).removed) << "what its agent may still run is waited for";
  EXPECT_EQ(may("n1"), "boot_not_armed");
  EXPECT_FALSE(has_boot_to_take_back(cluster.state, "n1"));
  // An administrator's token lets it in again, and it goes down before it was tested.
  cluster.state.nodes[NodeId(1)].request = {};
  EXPECT_EQ(may("n1"), "boot_not_armed") << "the reboot gave its token before";
}

TEST_F(Boots, ARebootThatTakesLongGivesNoSecondToken) {
  goes_down();
  is_told_to_reboot();
  give("n1");
  cluster.pass(kBootRemembered + seconds(1));
  arm("b", seconds(60));
  EXPECT_EQ(may("n1"), "boot_used");
}

TEST_F(Boots, OldOnesAreForgotten) {
  arm("a", seconds(60));
  cluster.pass(kBootRemembered + seconds(61));
  arm("b", seconds(60));
  EXPECT_FALSE(cluster.state.armed_boots.contains("a"));
  EXPECT_TRUE(cluster.state.armed_boots.contains("b"));
}

TEST_F(Boots, TheFirstConfigByNameCounts) {
  const auto declare = [this](const char* name, const char* nodes) {
    BootConfig config;
    config.name = name;
    config.nodes = {nodes};
    cluster.tell(ObjectApplied{Declared(config)});
  };
  declare("b", "*");
  declare("a", "gpu-[001-004]");
  EXPECT_EQ(boot_config_of(cluster.state, "gpu-003")->name, "a");
  EXPECT_EQ(boot_config_of(cluster.state, "gpu-005")->name, "b");
}

}  // namespace
}  // namespace dove::core
