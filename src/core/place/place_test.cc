#include "core/place/place.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/place/cannot_start.h"
#include "core/place/pools_fixture.h"

namespace dove::core {
namespace {

// Four nodes in two racks.
class PlaceTest : public testing::Test {
 protected:
  PlaceTest() {
    for (int i = 0; i < 4; ++i) {
      NodeDeclaration declared;
      declared.name = fmt::format("n{}", i + 1);
      declared.topology = {{"rack", i < 2 ? "r1" : "r2"}};
      cluster.declare(declared);
    }
  }
  std::vector<std::uint32_t> nodes_of(const JobSpec& spec) {
    const RankedNodes ranked = ranked_nodes(cluster.state);
    const auto found = find_places(candidates_of(cluster.state, ranked), FirstFit(), spec, {});
    std::vector<std::uint32_t> nodes;
    for (const Placement& one : found.value_or(std::vector<Placement>{}))
      nodes.push_back(one.node.value);
    return nodes;
  }
  JobSpec in_a_rack(std::int32_t tasks, bool required) {
    JobSpec spec = spec_of({.cores = 4, .tasks = tasks});
    spec.domain = "rack";
    spec.domain_required = required;
    return spec;
  }

  TestCluster cluster{4, {.cores = 4}};
};

TEST_F(PlaceTest, AGangGoesToTheTightestRackThatHoldsIt) {
  cluster.submit_and_start({.cores = 4}, {3});
  EXPECT_EQ(nodes_of(in_a_rack(1, true)), std::vector<std::uint32_t>{4});
  EXPECT_EQ(nodes_of(in_a_rack(2, true)), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(PlaceTest, ARackThatIsRequiredIsNotLeft) {
  EXPECT_TRUE(nodes_of(in_a_rack(3, true)).empty());
}

TEST_F(PlaceTest, OneThatIsPreferredIsLeftForAsFewAsWillDo) {
  EXPECT_EQ(nodes_of(in_a_rack(3, false)).size(), 3u);
}

TEST_F(PlaceTest, WithoutALevelAnyNodesWillDo) {
  EXPECT_EQ(nodes_of(spec_of({.cores = 4, .tasks = 3})), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST_F(PlaceTest, AllNodesHaveTheSameOneOfTheFeaturesInBrackets) {
  for (const auto& [name, feature] :
       std::map<std::string, std::string>{{"n1", "a"}, {"n2", "b"}, {"n3", "a"}, {"n4", "b"}}) {
    NodeDeclaration declared;
    declared.name = name;
    declared.features = {feature};
    cluster.declare(declared);
  }
  JobSpec spec = spec_of({.cores = 4, .tasks = 2});
  spec.features = {"a|b"};
  EXPECT_EQ(nodes_of(spec), (std::vector<std::uint32_t>{1, 2}));
  spec.features = {"[a|b]"};
  EXPECT_EQ(nodes_of(spec), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_TRUE(cannot_start(cluster.state, spec).empty());
  cluster.submit_and_start({.cores = 4}, {3});
  EXPECT_EQ(nodes_of(spec), (std::vector<std::uint32_t>{2, 4}));
  cluster.submit_and_start({.cores = 4}, {4});
  EXPECT_TRUE(nodes_of(spec).empty()) << "of each there is one node";
  spec.groups[0].tasks = 1;
  EXPECT_EQ(nodes_of(spec), std::vector<std::uint32_t>{1});
  spec.groups[0].tasks = 3;
  EXPECT_FALSE(cannot_start(cluster.state, spec).empty()) << "no three nodes have the same one";
}

TEST_F(PlaceTest, FewerNodesThanTheJobTakesAreAmongIts) {
  JobSpec spec = spec_of({.cores = 4, .tasks = 2});
  spec.groups[0].nodes_min = spec.groups[0].nodes_max = 2;
  spec.nodes_wanted = {"n3"};
  EXPECT_EQ(nodes_of(spec), (std::vector<std::uint32_t>{1, 3}));
  spec.nodes_wanted = {"n3", "n4"};
  EXPECT_EQ(nodes_of(spec), (std::vector<std::uint32_t>{3, 4}));
  spec.nodes_wanted = {"n4"};
  spec.groups[0].tasks_per_node = 1;
  EXPECT_EQ(nodes_of(spec), (std::vector<std::uint32_t>{1, 4}));
  spec.nodes_excluded = {"n1", "n2", "n3"};
  EXPECT_TRUE(nodes_of(spec).empty());
  spec.nodes_excluded.clear();
  cluster.submit_and_start({.cores = 4}, {4});
  EXPECT_TRUE(nodes_of(spec).empty());
}

// What a plan would keep for others.
class Kept final : public FreeNodes {
 public:
  const FreeBooks* books(NodeId) override { return nullptr; }
  bool is_open(NodeId node) override { return node != NodeId(1); }
  bool is_spare(NodeId node) override { return node == NodeId(2); }
};

TEST_F(PlaceTest, ClosedNodesAreLeftOutAndSpareOnesTakenLast) {
  Kept kept;
  const RankedNodes ranked = ranked_nodes(cluster.state);
  Candidates candidates = candidates_of(cluster.state, ranked);
  candidates.free = &kept;
  candidates.spares_last = true;
  const auto found = find_places(candidates, FirstFit(), spec_of({.cores = 4}), {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->front().node, NodeId(3));
}

}  // namespace
}  // namespace dove::core
