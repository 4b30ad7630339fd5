#include "core/explain/node_choice.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class NodeChoiceTest : public testing::Test {
 protected:
  TestCluster cluster{2, {.cores = 8}};
};

TEST_F(NodeChoiceTest, ANodeThatTheJobLeavesOutIsNotAllowedHoweverOftenAsked) {
  JobSpec spec = spec_of({.cores = 1});
  spec.nodes_excluded = {cluster.node(2).name};
  NodeChoice choice(cluster.state, spec);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(choice.allows(NodeId(1)));
    EXPECT_FALSE(choice.allows(NodeId(2)));
  }
}

TEST_F(NodeChoiceTest, AJobWithoutAChoiceMayUseAll) {
  const JobSpec spec = spec_of({.cores = 1});
  NodeChoice choice(cluster.state, spec);
  EXPECT_TRUE(choice.allows(NodeId(1)));
  EXPECT_TRUE(choice.allows(NodeId(2)));
}

}  // namespace
}  // namespace dove::core
