#include "core/state/executors/conflicts.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/executors/foreign.h"
#include "core/state/health.h"

namespace dove::core {
namespace {

// A Slurm on a node of four GPUs. What it runs is set by hand, so that nothing was settled yet.
class Conflicts : public testing::Test {
 protected:
  Conflicts() {
    cluster.declare(Executor{"slurm", "", {"n1"}, false, {}});
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }
  void runs(const char* id, std::vector<std::int32_t> devices) {
    ForeignAllocation one;
    one.id = id;
    one.devices = std::move(devices);
    node.executors.at(0).foreign.push_back(one);
  }
  bool settle() { return settle_conflicts(cluster.state, node); }
  // "xid", "foreign 2": as they stand in the node.
  std::vector<std::string> findings() const {
    std::vector<std::string> found;
    for (const OpenFinding& open : node.findings) {
      const std::int32_t device = open.finding.device;
      found.push_back(open.finding.check + (device < 0 ? "" : fmt::format(" {}", device)));
    }
    return found;
  }

  using Found = std::vector<std::string>;
  TestCluster cluster{1, {.gpus = 4}};
  Node& node = *cluster.state.find_node(NodeId(1));
};

TEST_F(Conflicts, OneHolderOfADeviceIsNone) {
  EXPECT_FALSE(settle());
  runs("7", {0, 1});
  runs("8", {2});
  cluster.submit_and_start({.cores = 1});
  EXPECT_FALSE(settle());
  EXPECT_EQ(findings(), Found{});
}

TEST_F(Conflicts, EachDeviceThatTwoHoldHasAFindingThatNamesBoth) {
  runs("7", {0, 1});
  runs("8", {1, 3});
  runs("9", {3});
  EXPECT_TRUE(settle());
  ASSERT_EQ(findings(), (Found{"foreign 1", "foreign 3"}));
  EXPECT_EQ(node.findings[0].finding.evidence, "slurm job 7 and slurm job 8 hold it at once");
  EXPECT_EQ(node.findings[0].finding.severity, Severity::kFault);
}

TEST_F(Conflicts, AJobOfOursIsAHolderUntilItsPlacementEnds) {
  const JobId ours = cluster.submit_and_start({.gpus = 2});
  runs("7", {1});
  EXPECT_TRUE(settle());
  ASSERT_EQ(findings(), Found{"foreign 1"});
  EXPECT_EQ(node.findings[0].finding.evidence, "slurm job 7 and job 1 of ann hold it at once");
  Attempt& attempt = cluster.state.find_job(ours)->attempts.back();
  attempt.placements[0].stage = PlacementStage::kEnded;
  EXPECT_TRUE(settle());
  EXPECT_EQ(findings(), Found{});
}

TEST_F(Conflicts, AFindingKeepsTheInstantWhenItBegan) {
  runs("7", {0});
  runs("8", {0});
  settle();
  const Instant began = cluster.state.now;
  cluster.pass(seconds(10));
  EXPECT_FALSE(settle()) << "nothing has changed";
  runs("9", {0});
  EXPECT_TRUE(settle()) << "a third one";
  EXPECT_EQ(node.findings.at(0).since, began);
}

TEST_F(Conflicts, OtherFindingsStayInTheirOrder) {
  for (const char* check : {"xid", "disk"}) {
    open_finding(cluster.state, node, {check, Severity::kFault, Remedy::kNone, 0, "broken"});
  }
  runs("7", {2, 3});
  runs("8", {2, 3});
  EXPECT_TRUE(settle());
  EXPECT_EQ(findings(), (Found{"disk 0", "foreign 2", "foreign 3", "xid 0"}));
  node.executors[0].foreign.pop_back();
  EXPECT_TRUE(settle());
  EXPECT_EQ(findings(), (Found{"disk 0", "xid 0"}));
}

TEST_F(Conflicts, NoMoreFindingsAreOpenedThanANodeMayHave) {
  for (std::size_t i = 0; i + 1 < kFindings_max; ++i) {
    node.findings.push_back({{fmt::format("a{:02}", i), Severity::kWarning, {}, -1, ""}, {}});
  }
  runs("7", {2, 3});
  runs("8", {2, 3});
  EXPECT_TRUE(settle());
  EXPECT_EQ(node.findings.size(), kFindings_max);
  EXPECT_EQ(findings().back(), "foreign 2");
}

TEST_F(Conflicts, RoomForAJobOfTheExecutorIsNoHolderBesideThatJob) {
  JobSpec spec = spec_of({.gpus = 1});
  spec.executor = "slurm";
  spec.foreign_job = "7";
  cluster.launch(cluster.submit(spec));
  runs("7", {0});
  EXPECT_FALSE(settle());
  EXPECT_EQ(findings(), Found{});
}

}  // namespace
}  // namespace dove::core
