#include "core/queue/total.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(Total, IsWhatJobsMayHave) {
  TestCluster cluster{1, {.cores = 8, .gpus = 2, .memory_bytes = 1000}};
  NodeDeclaration declared;
  declared.name = "n1";
  declared.cores_reserved = 3;
  declared.memory_reserved_bytes = 400;
  cluster.declare(declared);
  const Total total = total_of(cluster.node(1));
  EXPECT_EQ(total.cores, 5);
  EXPECT_EQ(total.gpus_milli, 2 * kWholeDevice_milli);
  EXPECT_EQ(total.memory_bytes, 600);
}

TEST(Total, MoreReservedThanThereIsIsNothing) {
  TestCluster cluster{1, {.cores = 2}};
  NodeDeclaration declared;
  declared.name = "n1";
  declared.cores_reserved = 3;
  cluster.declare(declared);
  EXPECT_EQ(total_of(cluster.node(1)).cores, 0);
}

TEST(Total, ANodeExchangesWhatItAdded) {
  const TestCluster cluster{2, {.cores = 8, .gpus = 2, .memory_bytes = 1000}};
  Total sum;
  for (const Node& node : cluster.state.nodes) exchange(sum, {}, total_of(node));
  EXPECT_EQ(sum.cores, 16);
  exchange(sum, total_of(cluster.node(2)), {});
  EXPECT_EQ(sum.cores, 8);
  EXPECT_EQ(sum.gpus_milli, 2 * kWholeDevice_milli);
  EXPECT_EQ(sum.memory_bytes, 1000);
}

}  // namespace
}  // namespace dove::core
