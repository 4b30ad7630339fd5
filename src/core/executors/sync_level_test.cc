// What the log of a former level cannot hold, as its programs would fold it, is no news there.
#include <gtest/gtest.h>

#include "core/executors/sync.h"
#include "core/state/cluster_fixture.h"
#include "core/state/executors/foreign.h"
#include "model/level.h"

namespace dove::core {
namespace {

TEST(SyncLevel, WhatIsKeptForLaterIsNoNewsToAFormerLevel) {
  TestCluster cluster{1, {.gpus = 4}};
  const Executor executor{"slurm", "", {"n1"}, true, {}};
  cluster.declare(executor);
  cluster.state.level = kFirstLevel;
  Observation said;
  const auto tell = [&] {
    for (const Event& event : news(cluster.state, executor, said)) cluster.tell(event);
    EXPECT_TRUE(news(cluster.state, executor, said).empty()) << "the same again is no news";
    return cluster.node(1).executors[0].foreign.size();
  };
  SaidAllocation& kept = said.allocations.emplace_back();
  kept.node = "n1";
  kept.allocation.id = "reservation:course";
  kept.allocation.devices = {0};
  kept.allocation.started_at = cluster.state.now + seconds(60);
  EXPECT_EQ(tell(), 0u) << "a former program would hold it from now on";
  kept.allocation.started_at = {};
  EXPECT_EQ(tell(), 1u) << "it has begun";
  said.allocations.clear();
  EXPECT_EQ(tell(), 0u);
  cluster.tell(LevelRaised{kNewestLevel});
  said.allocations.push_back({"n1", {}});
  said.allocations[0].allocation.id = "reservation:course";
  said.allocations[0].allocation.started_at = cluster.state.now + seconds(60);
  EXPECT_EQ(tell(), 1u);
  EXPECT_TRUE(has_to_come(cluster.node(1)));
}

}  // namespace
}  // namespace dove::core
