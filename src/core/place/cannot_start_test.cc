#include "core/place/cannot_start.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

class CannotStartTest : public testing::Test {
 protected:
  // The sentence; "": it may start some day.
  std::string why(const JobSpec& spec) const {
    const std::vector<std::string> all = cannot_start(cluster.state, spec);
    return all.empty() ? "" : all.front();
  }
  std::string why(const Ask& ask) const { return why(spec_of(ask)); }
  std::string drained(const Ask& ask = {}) const {
    return all_drained(cluster.state, spec_of(ask));
  }
  void drain(std::uint32_t number, const char* reason = "") {
    NodeDeclaration declared;
    declared.name = fmt::format("n{}", number);
    declared.drained = true;
    declared.drain_reason = reason;
    cluster.declare(declared);
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 4, .memory_bytes = 64 * kGibibyte}};
};

TEST_F(CannotStartTest, WhatFillsTheClusterExactlyMay) {
  JobSpec spec = spec_of({.cores = 8, .gpus = 4, .tasks = 2});
  spec.groups[0].per_task.memory_bytes = 64 * kGibibyte;
  spec.groups[0].tasks_per_node = 1;
  EXPECT_EQ(why(spec), "");
}

TEST_F(CannotStartTest, WhatOthersHoldOrSilentNodesHaveIsThereSomeDay) {
  cluster.submit_and_start({.gpus = 4}, {1});
  cluster.tell(NodeDisconnected{NodeId(2), /*silent=*/true});
  EXPECT_EQ(why({.gpus = 4, .tasks = 2}), "");
  cluster.state.find_node(NodeId(2))->removed = true;
  EXPECT_EQ(why({.gpus = 4, .tasks = 2}),
            "needs 2 tasks at once; all nodes of pool default together can hold 1");
}

TEST_F(CannotStartTest, ThePoolMayHaveNoNodes) {
  TestCluster empty;
  EXPECT_EQ(cannot_start(empty.state, spec_of({})),
            std::vector<std::string>{"pool default has no nodes"});
}

TEST_F(CannotStartTest, TheResourceIsNamedThatNoNodeHasEnoughOf) {
  EXPECT_EQ(why({.gpus = 5}), "a task needs 5 GPUs, and no node of pool default has more than 4");
  EXPECT_EQ(why({.cores = 9}), "a task needs 9 cores, and no node of pool default has more than 8");
  JobSpec spec = spec_of({});
  spec.groups[0].per_task.memory_bytes = 64 * kGibibyte + 1;
  EXPECT_EQ(why(spec),
            "a task needs 64 GiB of memory, and no node of pool default has more than 64 GiB");
}

TEST_F(CannotStartTest, AnotherModelIsToldWithThoseThatThereAre) {
  JobSpec spec = spec_of({.gpus = 1});
  spec.groups[0].per_task.gpu_model = "A100";
  EXPECT_EQ(why(spec), "needs 1 A100; pool default has no A100 (it has 8 H200)");
  cluster.add_node({.gpus = 2, .model = "A100"});
  EXPECT_EQ(why(spec), "");
  spec.groups[0].per_task.gpus = 3;
  EXPECT_EQ(why(spec), "a task needs 3 A100s, and no node of pool default has more than 2");
}

TEST_F(CannotStartTest, WhatIsReservedForTheSystemDoesNotCount) {
  for (const char* name : {"n1", "n2"}) {
    NodeDeclaration declared;
    declared.name = name;
    declared.cores_reserved = 1;
    declared.memory_reserved_bytes = kGibibyte;
    cluster.declare(declared);
  }
  EXPECT_EQ(why({.cores = 7}), "");
  EXPECT_EQ(why({.cores = 8}), "a task needs 8 cores, and no node of pool default has more than 7");
  JobSpec spec = spec_of({});
  spec.groups[0].per_task.memory_bytes = 64 * kGibibyte;
  EXPECT_EQ(why(spec),
            "a task needs 64 GiB of memory, and no node of pool default has more than 63 GiB");
}

TEST_F(CannotStartTest, TasksThatMustBeTogetherAreCountedTogether) {
  JobSpec spec = spec_of({.gpus = 2, .tasks = 4});
  spec.groups[0].tasks_per_node = 2;
  EXPECT_EQ(why(spec), "");
  spec.groups[0].tasks_per_node = 4;
  EXPECT_EQ(why(spec),
            "4 tasks on one node need 8 GPUs, and no node of pool default has more than 4");
}

TEST_F(CannotStartTest, WhatANodeMustHaveOnceComesOffFirst) {
  JobSpec spec = spec_of({.cores = 1});
  spec.groups[0].per_node.cores = 7;
  EXPECT_EQ(why(spec), "");
  spec.groups[0].per_node.cores = 8;
  EXPECT_EQ(why(spec), "a node must have 9 cores, and no node of pool default has more than 8");
}

TEST_F(CannotStartTest, ANodeWithoutThatHasNoRoomForTasks) {
  cluster.add_node({.cores = 8});
  JobSpec spec = spec_of({.cores = 1, .tasks = 16});
  spec.groups[0].per_node.gpus = 4;
  EXPECT_EQ(why(spec), "");
  spec.groups[0].tasks = 17;
  EXPECT_EQ(why(spec), "needs 17 tasks at once; all nodes of pool default together can hold 16");
}

TEST_F(CannotStartTest, CountablesOfTheAgentAndOfADeclarationAddUp) {
  JobSpec spec = spec_of({});
  spec.groups[0].per_task.countables = {{"fpga", 2}};
  EXPECT_EQ(why(spec), "needs 2 fpga; no node of pool default has any");
  NodeDeclaration declared;
  declared.name = "n1";
  declared.countables = {{"fpga", 1}};
  cluster.declare(declared);
  EXPECT_EQ(why(spec), "needs 2 fpga on one node, and no node of pool default has more than 1");
  auto found = std::make_shared<Inventory>(*cluster.node(1).inventory);
  found->countables = {{"fpga", 1}};
  cluster.state.find_node(NodeId(1))->inventory = found;
  EXPECT_EQ(why(spec), "");
}

TEST_F(CannotStartTest, EachResourceMayBeThereAndNotOnOneNode) {
  cluster.state.find_node(NodeId(2))->removed = true;
  cluster.add_node({.cores = 64});
  EXPECT_EQ(why({.cores = 64, .gpus = 1}),
            "no node of pool default has all that it asks of one node at once");
}

TEST_F(CannotStartTest, TooFewNodesOrTooLittleRoomOnAllIsCounted) {
  EXPECT_EQ(why({.gpus = 1, .tasks = 8}), "");
  EXPECT_EQ(why({.gpus = 1, .tasks = 9}),
            "needs 9 tasks at once; all nodes of pool default together can hold 8");
  JobSpec spread = spec_of({.gpus = 1, .tasks = 3});
  spread.groups[0].tasks_per_node = 1;
  EXPECT_EQ(why(spread), "needs 3 nodes; pool default has 2");
  cluster.add_node({.gpus = 0});
  EXPECT_EQ(why(spread), "needs 3 nodes; pool default has 2 that can hold what it asks of each");
}

TEST_F(CannotStartTest, ItsChoiceOfNodesAndFeaturesMayLeaveNone) {
  JobSpec spec = spec_of({});
  spec.nodes_wanted = {"n9"};
  EXPECT_EQ(why(spec), "asks for node n9, which pool default does not have");
  spec.nodes_wanted = {"n1"};
  EXPECT_EQ(why(spec), "");
  spec.nodes_excluded = {"n1"};
  EXPECT_EQ(why(spec), "--nodelist and --exclude leave no node of pool default");
  spec.nodes_wanted.clear();
  spec.features = {"ib"};
  EXPECT_EQ(why(spec), "no node of pool default has the feature ib");
  spec.features = {"ib|opa"};
  EXPECT_EQ(why(spec), "no node of pool default has a feature of ib|opa");
  NodeDeclaration declared;
  declared.name = "n1";
  declared.features = {"opa"};
  cluster.declare(declared);
  EXPECT_EQ(why(spec), "no node of pool default that it may use has ib|opa");
  spec.nodes_excluded = {"n2"};
  EXPECT_EQ(why(spec), "");
}

TEST_F(CannotStartTest, EachGroupThatCannotHasASentence) {
  JobSpec spec = spec_of({.gpus = 5});
  spec.groups.push_back(spec_of({}).groups[0]);
  spec.groups.push_back(spec_of({.cores = 9}).groups[0]);
  EXPECT_EQ(cannot_start(cluster.state, spec).size(), 2u);
}

TEST_F(CannotStartTest, DrainedNodesAreToldOnlyWhenAllAre) {
  drain(1, "fan");
  EXPECT_EQ(drained(), "");
  drain(2);
  EXPECT_EQ(drained(), "both nodes are drained (fan)");
  EXPECT_EQ(why(Ask{}), "") << "they come back";
  cluster.add_node({});
  drain(3, "test");
  EXPECT_EQ(drained(), "all 3 nodes are drained (fan, test)");
}

TEST_F(CannotStartTest, DrainedNodesAreThoseThatTheJobMayUse) {
  drain(1);
  JobSpec spec = spec_of({});
  spec.nodes_wanted = {"n1"};
  EXPECT_EQ(all_drained(cluster.state, spec), "node n1 is drained");
  spec.nodes_wanted = {"n9"};
  EXPECT_EQ(all_drained(cluster.state, spec), "") << "something else is wrong";
}

}  // namespace
}  // namespace dove::core
