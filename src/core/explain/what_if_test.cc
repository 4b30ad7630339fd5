#include "core/explain/what_if.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class WhatIfTest : public testing::Test {
 protected:
  WhatIfTest() { cluster.submit_and_start({.cores = 8, .gpus = 1}, {1}); }
  const PoolNodes& pool() {
    nodes = nodes_of(cluster.state, cluster.state.pools.at("default"));
    return nodes;
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 2}};
  PoolNodes nodes;
  FirstFit first_fit;
};

TEST_F(WhatIfTest, AsTheyAreNodesHaveWhatIsFree) {
  WhatIf now(cluster.state, first_fit, pool());
  EXPECT_EQ(now.size(), 2u);
  EXPECT_FALSE(now.fits(spec_of({.gpus = 1, .tasks = 3})));
  const JobSpec one = spec_of({.gpus = 1});
  NodeChoice choice(cluster.state, one);
  EXPECT_EQ(now.count_with_room(choice), 1);
}

TEST_F(WhatIfTest, EmptyNodesHaveAll) {
  WhatIf now(cluster.state, first_fit, pool());
  WhatIf empty(now, Freed{.all = true});
  EXPECT_TRUE(empty.fits(spec_of({.gpus = 1, .tasks = 4})));
  EXPECT_FALSE(empty.fits(spec_of({.gpus = 1, .tasks = 5})));
}

TEST_F(WhatIfTest, AFaultOfOneNodeIsNoFaultOfAnother) {
  cluster.state.nodes[NodeId(2)].inventory = cluster.node(1).inventory;  // of one kind
  cluster.tell(FindingReported{NodeId(1), {"xid", Severity::kFault, Remedy::kNone, 1, "seen"}});
  WhatIf now(cluster.state, first_fit, pool());
  WhatIf empty(now, Freed{.all = true});
  EXPECT_TRUE(empty.fits(spec_of({.gpus = 2})));
  EXPECT_FALSE(empty.fits(spec_of({.gpus = 1, .tasks = 4})));
}

TEST_F(WhatIfTest, OneResourceMayBeFreedAlone) {
  Freed cores;
  cores.cores = true;
  WhatIf now(cluster.state, first_fit, pool());
  WhatIf freed(now, cores);
  EXPECT_TRUE(freed.fits(spec_of({.gpus = 1, .tasks = 3})));
  EXPECT_FALSE(freed.fits(spec_of({.gpus = 1, .tasks = 4})));
}

TEST_F(WhatIfTest, SilentNodesCountWhereAllDo) {
  cluster.tell(NodeDisconnected{NodeId(2), true});
  WhatIf now(cluster.state, first_fit, pool());
  WhatIf all(now, Freed{.all = true});
  WhatIf available(all, WhatIf::Nodes::kAvailable);
  WhatIf::Closed closed;
  closed.push_back(true);
  EXPECT_EQ(WhatIf(all, WhatIf::Nodes::kAll, closed).size(), 1u);
  EXPECT_EQ(available.size(), 1u);
  EXPECT_EQ(all.size(), 2u);
}

// A part and other books copy the units of all nodes instead of summing them up again.
TEST_F(WhatIfTest, UnitsAreThoseOfItsNodesWithItsBooks) {
  for (Node& node : cluster.state.nodes) node.declared.topology = {{"rack", "r1"}};
  WhatIf now(cluster.state, first_fit, pool());
  WhatIf all(now, Freed{.all = true});
  WhatIf::Closed closed;
  closed.push_back(true);
  WhatIf part(all, WhatIf::Nodes::kAll, closed);
  const auto gpus_milli = [](WhatIf& those) {
    return those.domains().unit(those.domains().tightest_first("rack").front()).free.gpus_milli;
  };
  EXPECT_EQ(gpus_milli(part), 2000);
  EXPECT_EQ(gpus_milli(all), 4000);
  EXPECT_EQ(gpus_milli(now), 3000);
}

}  // namespace
}  // namespace dove::core
