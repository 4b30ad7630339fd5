#include "model/by_id.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace dove {
namespace {

TEST(ById, TheFirstElementBelongsToIdOne) {
  ById<NodeId, int> it;
  it.push_back(10);
  it.emplace_back(20);
  EXPECT_EQ(it[NodeId(1)], 10);
  EXPECT_EQ(it[NodeId(2)], 20);
  it[NodeId(2)] = 21;
  EXPECT_EQ(it.back(), 21);
}

TEST(ById, HoldsTheIdsFromOneToTheLast) {
  ById<NodeId, int> it(2);
  EXPECT_FALSE(it.holds(NodeId()));
  EXPECT_TRUE(it.holds(NodeId(1)));
  EXPECT_TRUE(it.holds(NodeId(2)));
  EXPECT_FALSE(it.holds(NodeId(3)));
}

TEST(ById, GrowsAsFarAsIsAskedAndNeverShrinks) {
  ById<NodeId, int> it;
  it.reach(NodeId(2));
  it[NodeId(2)] = 7;
  it.reach(NodeId(1));
  EXPECT_EQ(it.size(), 2u);
  it.reach(NodeId(4));
  EXPECT_EQ(it.size(), 4u);
  EXPECT_EQ(it[NodeId(2)], 7);
}

TEST(ById, BoolsAreSetThroughTheirReference) {
  ById<NodeId, bool> it(3, false);
  it[NodeId(3)] = true;
  EXPECT_TRUE(it[NodeId(3)]);
  EXPECT_FALSE(it[NodeId(2)]);
}

TEST(ById, NeitherANumberNorAnotherIdIsAnIndex) {
  using Nodes = ById<NodeId, int>;
  const auto indexes = []<class Index>(Nodes& it, Index index) { return requires { it[index]; }; };
  Nodes it(1);
  EXPECT_TRUE(indexes(it, NodeId(1)));
  EXPECT_FALSE(indexes(it, std::size_t{0}));
  EXPECT_FALSE(indexes(it, JobId(1)));
}

}  // namespace
}  // namespace dove
