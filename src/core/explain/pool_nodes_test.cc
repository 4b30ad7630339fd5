#include "core/explain/pool_nodes.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// The pool has n1, n2 and n4, of four nodes.
class PoolNodesTest : public testing::Test {
 protected:
  PoolNodesTest() {
    pool.name = "some";
    pool.nodes = {"n[1-2]", "n4"};
  }
  PoolNodes nodes() const { return nodes_of(cluster.state, pool); }
  Node& node(std::uint32_t number) { return *cluster.state.find_node(NodeId(number)); }
  static std::vector<std::uint32_t> numbers(const PoolNodes& of) {
    std::vector<std::uint32_t> found;
    for (const NodeId id : of.ids) found.push_back(id.value);
    return found;
  }

  using Numbers = std::vector<std::uint32_t>;
  TestCluster cluster{4};
  Pool pool;
};

TEST_F(PoolNodesTest, AreThoseThatItsListsName) {
  const PoolNodes found = nodes();
  EXPECT_EQ(numbers(found), (Numbers{1, 2, 4}));
  EXPECT_EQ(found.available, 3u);
  EXPECT_TRUE(found.are_members[NodeId(4)]);
  EXPECT_FALSE(found.are_members[NodeId(3)]);
  EXPECT_FALSE(found.are_available[NodeId(3)]) << "it is, to others";
  pool.nodes = {"x"};
  EXPECT_TRUE(nodes().ids.empty());
  EXPECT_EQ(nodes().available, 0u);
}

TEST_F(PoolNodesTest, OneThatIsAwayStaysAMember) {
  PoolNodes kept = nodes();
  node(2).contact = Contact::kSilent;
  for (int i = 0; i < 2; ++i) {
    update(kept, pool, node(2));
    EXPECT_EQ(kept.available, 2u);
  }
  EXPECT_EQ(numbers(kept), (Numbers{1, 2, 4}));
  node(2).contact = Contact::kConnected;
  update(kept, pool, node(2));
  EXPECT_EQ(kept.available, 3u);
}

TEST_F(PoolNodesTest, OneThatIsRemovedIsNone) {
  PoolNodes kept = nodes();
  node(1).removed = true;
  update(kept, pool, node(1));
  EXPECT_EQ(numbers(kept), (Numbers{2, 4}));
  EXPECT_EQ(kept.available, 2u);
  EXPECT_EQ(numbers(nodes()), (Numbers{2, 4}));
}

TEST_F(PoolNodesTest, OneOfWhichNothingIsKnownComesInItsPlaceWhenSomethingIs) {
  const auto inventory = node(2).inventory;
  node(2).inventory = nullptr;
  PoolNodes kept = nodes();
  EXPECT_EQ(numbers(kept), (Numbers{1, 4}));
  node(2).inventory = inventory;
  update(kept, pool, node(2));
  EXPECT_EQ(numbers(kept), (Numbers{1, 2, 4}));
  EXPECT_EQ(kept.available, 3u);
}

TEST_F(PoolNodesTest, ANodeOfAnotherPoolChangesNothing) {
  PoolNodes kept = nodes();
  update(kept, pool, node(3));
  EXPECT_EQ(numbers(kept), (Numbers{1, 2, 4}));
  EXPECT_EQ(kept.available, 3u);
}

TEST_F(PoolNodesTest, ReservationsAreWindowsOfTheirNodes) {
  EXPECT_TRUE(nodes().windows.empty());
  Reservation reservation;
  reservation.name = "r";
  reservation.nodes = {"n2"};
  reservation.starts_at = cluster.state.now + seconds(10);
  reservation.ends_at = cluster.state.now + seconds(20);
  cluster.declare(reservation);
  EXPECT_EQ(nodes().windows[NodeId(2)].size(), 1u);
  EXPECT_TRUE(nodes().windows[NodeId(1)].empty());
}

}  // namespace
}  // namespace dove::core
