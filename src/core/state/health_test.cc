#include "core/state/health.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

Finding fault(std::string check, std::int32_t device = -1) {
  return {std::move(check), Severity::kFault, Remedy::kReset, device, "seen"};
}

TEST(Health, AFaultTakesTheDeviceOutOfTheBooksUntilItIsOver) {
  TestCluster cluster(1, {.gpus = 2});
  open_finding(cluster.state, *cluster.state.find_node(NodeId(1)), fault("xid", 0));
  EXPECT_EQ(cluster.node(1).device_free_milli[0], 0);
  Finding good = fault("xid", 0);
  good.severity = Severity::kGood;
  open_finding(cluster.state, *cluster.state.find_node(NodeId(1)), good);
  EXPECT_EQ(cluster.node(1).device_free_milli[0], kWholeDevice_milli);
  EXPECT_TRUE(cluster.node(1).findings.empty());
}

TEST(Health, AFaultIsCountedOnceHoweverOftenItIsReported) {
  TestCluster cluster(1);
  Node& node = *cluster.state.find_node(NodeId(1));
  for (int i = 0; i < 3; ++i) open_finding(cluster.state, node, fault("disk"));
  EXPECT_EQ(node.faults.size(), 1u);
}

TEST(Health, ManyFaultsOfLateMakeALemon) {
  TestCluster cluster(1);
  Node& node = *cluster.state.find_node(NodeId(1));
  for (const char* check : {"a", "b", "c"}) {
    EXPECT_FALSE(is_lemon(cluster.state, node));
    open_finding(cluster.state, node, fault(check));
  }
  EXPECT_TRUE(is_lemon(cluster.state, node));
  cluster.pass(cluster.state.settings.lemon_window + seconds(1));
  EXPECT_FALSE(is_lemon(cluster.state, node));
}

TEST(Health, APeerVotesOnce) {
  TestCluster cluster(2);
  Node& node = *cluster.state.find_node(NodeId(1));
  vote(cluster.state, node, NodeId(2));
  vote(cluster.state, node, NodeId(2));
  ASSERT_EQ(node.votes.size(), 1u);
  close_findings(cluster.state, node);
  EXPECT_TRUE(node.votes.empty());
}

TEST(Health, ANodeThatIsSlowSeveralTimesInARowGetsAFinding) {
  TestCluster cluster(3);
  const JobId gang = cluster.submit_and_start({.tasks = 3}, {1, 2, 3});
  const auto report = [&](std::uint32_t node, std::int64_t step, std::int64_t busy_ms) {
    cluster.tell(ProgressReported{gang, 1, NodeId(node), step, milliseconds(busy_ms), node - 1, 1,
                                  milliseconds(busy_ms)});
  };
  for (std::int64_t step = 1; step <= 3; ++step) {
    report(1, step, 100);
    report(2, step, 100);
    report(3, step, 200);
  }
  ASSERT_EQ(cluster.node(3).findings.size(), 1u);
  EXPECT_EQ(cluster.node(3).findings[0].finding.check, kSlow_check);
  report(3, 4, 100);  // it keeps up again
  EXPECT_TRUE(cluster.node(3).findings.empty());
}

}  // namespace
}  // namespace dove::core
