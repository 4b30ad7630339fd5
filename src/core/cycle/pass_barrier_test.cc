#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

TEST(PassBarrier, AGangStartsOnceItIsPreparedEverywhere) {
  TestCluster cluster(2);
  const JobId gang = cluster.submit({.tasks = 2});
  cluster.launch(gang, {1, 2});
  cluster.tell(PlacementPrepared{gang, 1, NodeId(1)});
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
  cluster.tell(PlacementPrepared{gang, 1, NodeId(2)});
  const auto started = decide_for<Start>(cluster);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].job, gang);
  EXPECT_TRUE(decide_for<Start>(cluster).empty());
}

}  // namespace
}  // namespace dove::core
