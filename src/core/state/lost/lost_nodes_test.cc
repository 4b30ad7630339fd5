#include "core/state/lost/lost_nodes.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class LostNodes : public testing::Test {
 protected:
  Node& one() { return cluster.state.nodes[NodeId(1)]; }
  void expel() {
    NodeActionRequested request;
    request.node = NodeId(1);
    request.action = NodeAction::kExpel;
    cluster.tell(request);
  }
  bool comes_back(bool joins, const std::string& backend = "native") {
    NodeRegistered event;
    event.name = "n1";
    event.backend = backend;
    return may_register(one(), event, joins);
  }

  TestCluster cluster{2, {.gpus = 2}};
};

TEST_F(LostNodes, WhatRanThereHoldsNothingAnyMore) {
  const JobId gang = cluster.submit_and_start({.gpus = 2, .tasks = 2}, {1, 2});
  lose_node(cluster.state, one());
  EXPECT_EQ(one().contact, Contact::kLost);
  EXPECT_TRUE(one().jobs.empty());
  EXPECT_EQ(one().device_free_milli, (std::vector<std::int32_t>{1000, 1000}));
  EXPECT_FALSE(one().removed) << "it may come back";
  // Its other part goes on until it is stopped.
  const Attempt& attempt = cluster.job(gang).attempts.back();
  EXPECT_EQ(attempt.placements[0].stage, PlacementStage::kEnded);
  EXPECT_EQ(attempt.placements[1].stage, PlacementStage::kStarted);
  EXPECT_EQ(cluster.node(2).jobs, std::vector<JobId>{gang});
}

TEST_F(LostNodes, AnExpelledNodeGoesAtOnceWhenItIsFree) {
  expel();
  EXPECT_TRUE(one().removed);
}

TEST_F(LostNodes, WhatItsAgentMayStillRunIsWaitedFor) {
  const JobId job = cluster.submit_and_start({.gpus = 1});
  cluster.tell(NodeDisconnected{NodeId(1), /*silent=*/false});
  expel();
  EXPECT_FALSE(one().removed);
  EXPECT_EQ(one().contact, Contact::kSilent) << "the longer wait, also where it was broken";
  EXPECT_EQ(one().jobs, std::vector<JobId>{job});
  lose_node(cluster.state, one());
  EXPECT_TRUE(one().removed);
  EXPECT_TRUE(one().jobs.empty());
}

TEST_F(LostNodes, TokensToJoinUnderItsNameAreVoid) {
  const auto issue = [&](const char* sha256, const char* name) {
    cluster.tell(JoinTokenIssued{sha256, name, cluster.state.now + seconds(60)});
  };
  issue("a", "n1");
  issue("b", "n2");
  expel();
  EXPECT_FALSE(cluster.state.join_tokens.contains("a"));
  EXPECT_TRUE(cluster.state.join_tokens.contains("b"));
}

TEST_F(LostNodes, AnExpelledNodeNeedsATokenToComeBack) {
  EXPECT_TRUE(comes_back(/*joins=*/false));
  expel();
  EXPECT_FALSE(comes_back(/*joins=*/false)) << "its agent may have had a call under way";
  EXPECT_TRUE(comes_back(/*joins=*/true));
  EXPECT_TRUE(comes_back(/*joins=*/false, "slurm")) << "an executor's node has no agent";
}

}  // namespace
}  // namespace dove::core
