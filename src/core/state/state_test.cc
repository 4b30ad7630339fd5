#include "core/state/state.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(State, HasADefaultPoolAndQueueFromTheBeginning) {
  const State state;
  EXPECT_TRUE(state.pools.at("default").is_default);
  EXPECT_TRUE(state.queues.contains("default"));
}

TEST(State, FindsByIdAndByName) {
  TestCluster cluster(2);
  const JobId job = cluster.submit();
  EXPECT_EQ(cluster.state.find_job(job)->id, job);
  EXPECT_EQ(cluster.state.find_job(JobId(9)), nullptr);
  EXPECT_EQ(cluster.state.find_node("n2")->id, NodeId(2));
  EXPECT_EQ(cluster.state.find_node("n"), nullptr);
  EXPECT_EQ(cluster.state.find_node("n3"), nullptr);
  EXPECT_EQ(cluster.state.find_node(NodeId(3)), nullptr);
  EXPECT_EQ(cluster.state.find_node(NodeId()), nullptr);
}

TEST(NodeTable, FindsByNameWhatCameInAnyOrder) {
  NodeTable nodes;
  for (const char* name : {"gpu-7", "cpu", "gpu-10", "a", "gpu-07"}) {
    Node node;
    node.id = NodeId(static_cast<std::uint32_t>(nodes.size() + 1));
    node.name = name;
    nodes.push_back(std::move(node));
  }
  for (const Node& node : nodes) EXPECT_EQ(nodes.find(node.name), &node) << node.name;
  const NodeTable copy = nodes;
  EXPECT_EQ(copy.find("gpu-10"), &copy[NodeId(3)]);
  EXPECT_EQ(nodes.find(""), nullptr);
  nodes.clear();
  EXPECT_EQ(nodes.find("a"), nullptr);
}

TEST(State, ACopyIsAForkThatNobodyFollows) {
  TestCluster cluster(1);
  cluster.state.changes.follow();
  cluster.submit();
  EXPECT_EQ(cluster.state.changes.jobs.size(), 1u);
  State fork = cluster.state;
  EXPECT_FALSE(fork.changes.is_followed());
  EXPECT_TRUE(fork.changes.jobs.empty());
  begin_batch(fork, fork.now, fork.epoch);
  core::apply(fork, StampedEvent{JobCancelRequested{JobId(1)}, {}});
  EXPECT_TRUE(fork.changes.jobs.empty());
  EXPECT_FALSE(cluster.job(JobId(1)).cancel_requested);
}

TEST(Changes, ADeclarationEndsTheFollowing) {
  TestCluster cluster(1);
  cluster.state.changes.follow();
  cluster.declare(queue_of("team"));
  EXPECT_FALSE(cluster.state.changes.is_followed());
}

TEST(Changes, TellWhatHasMoreAndWhatHasLess) {
  TestCluster cluster(1);
  const JobId job = cluster.submit();
  cluster.state.changes.follow();
  cluster.launch(job);
  EXPECT_EQ(cluster.state.changes.nodes_allocated, std::vector<NodeId>{NodeId(1)});
  EXPECT_FALSE(cluster.state.changes.usage_fell);
  cluster.start(job);
  cluster.leave(job);
  EXPECT_EQ(cluster.state.changes.nodes_released, std::vector<NodeId>{NodeId(1)});
  EXPECT_TRUE(cluster.state.changes.usage_fell);
}

TEST(State, QueuesAreVisitedFromBelow) {
  TestCluster cluster;
  cluster.declare(queue_of("org"));
  cluster.declare(queue_of("team", "org"));
  std::vector<std::string> seen;
  for_each_queue(cluster.state, "team", [&](const std::string& name) { seen.push_back(name); });
  EXPECT_EQ(seen, (std::vector<std::string>{"team", "org"}));
}

}  // namespace
}  // namespace dove::core
