#include "core/state/round_robin.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(RoundRobin, APolicyIsCalledWithOrWithoutItsVersion) {
  EXPECT_TRUE(is_called("round_robin/1", "round_robin/1"));
  EXPECT_TRUE(is_called("round_robin/1", "round-robin"));
  EXPECT_FALSE(is_called("round_robin/1", "round"));
  EXPECT_FALSE(is_called("round_robin/1", "round_robin/2"));
}

TEST(RoundRobin, IsKeptWherePlacementGoesAround) {
  ClusterSettings settings;
  EXPECT_FALSE(is_round_robin(settings));
  settings.placement = "round-robin";
  EXPECT_TRUE(is_round_robin(settings));
}

TEST(RoundRobin, OneTaskWithPlainDevicesOfItsOwnMovesTheCursor) {
  EXPECT_TRUE(moves_cursor(spec_of({.gpus = 1})));
  EXPECT_FALSE(moves_cursor(spec_of({.gpus = 0})));
  EXPECT_FALSE(moves_cursor(spec_of({.gpus = 1, .tasks = 2})));
  JobSpec chooses = spec_of({.gpus = 1});
  chooses.features = {"fast"};
  EXPECT_FALSE(moves_cursor(chooses));
}

TEST(RoundRobin, TheStateRemembersWhereTheLastOneWent) {
  TestCluster cluster(2, {.gpus = 1});
  ClusterSettings settings;
  settings.placement = "round_robin";
  cluster.declare(settings);
  cluster.submit_and_start({.gpus = 1}, {2});
  EXPECT_EQ(cluster.state.round_robin.at("default"), NodeId(2));
  cluster.declare(ClusterSettings{});
  EXPECT_TRUE(cluster.state.round_robin.empty());
}

}  // namespace
}  // namespace dove::core
