#include "core/state/node_table.h"

#include <gtest/gtest.h>

#include <utility>

namespace dove::core {
namespace {

class NodeTableTest : public testing::Test {
 protected:
  void add(const char* name) {
    Node node;
    node.id = NodeId(static_cast<std::uint32_t>(table.size() + 1));
    node.name = name;
    table.push_back(std::move(node));
  }
  // 0: there is none.
  std::uint32_t find(const char* name) const {
    const Node* node = table.find(name);
    return node == nullptr ? 0 : node->id.value;
  }

  NodeTable table;
};

TEST_F(NodeTableTest, AnEmptyOneHasNobody) {
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(find("n1"), 0u);
  EXPECT_FALSE(table.holds(NodeId(1)));
}

TEST_F(NodeTableTest, IdsAreInTheOrderOfJoiningWhateverTheNames) {
  for (const char* name : {"m", "z", "a", "n10", "n2"}) add(name);
  EXPECT_EQ(table[NodeId(3)].name, "a");
  EXPECT_EQ(table.front().name, "m");
  EXPECT_EQ(table.back().name, "n2");
  EXPECT_TRUE(table.holds(NodeId(5)));
  EXPECT_FALSE(table.holds(NodeId(6)));
}

TEST_F(NodeTableTest, EachIsFoundByItsWholeName) {
  for (const char* name : {"m", "z", "a", "n10", "n1"}) add(name);
  EXPECT_EQ(find("m"), 1u);
  EXPECT_EQ(find("z"), 2u);
  EXPECT_EQ(find("a"), 3u);
  EXPECT_EQ(find("n10"), 4u);
  EXPECT_EQ(find("n1"), 5u);
  for (const char* name : {"", "n", "n100", "zz", "A"}) EXPECT_EQ(find(name), 0u) << name;
}

TEST_F(NodeTableTest, ANodeIsChangedInPlace) {
  add("n1");
  table.find("n1")->boot_id = "second";
  EXPECT_EQ(table[NodeId(1)].boot_id, "second");
  EXPECT_EQ(std::as_const(table).find("n1"), &table[NodeId(1)]);
}

TEST_F(NodeTableTest, ACopyAndAClearedOneHaveTheirOwnNames) {
  add("n1");
  NodeTable copy = table;
  table.clear();
  EXPECT_EQ(find("n1"), 0u);
  ASSERT_NE(copy.find("n1"), nullptr);
  add("n2");
  EXPECT_EQ(find("n2"), 1u) << "ids begin anew";
}

}  // namespace
}  // namespace dove::core
