#include "core/place/within_limits.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// One GPU of each of two models, of which one is over its limit.
class WithinLimitsTest : public testing::Test {
 protected:
  WithinLimitsTest() {
    cluster.add_node({.gpus = 1, .model = "H200"});
    cluster.add_node({.gpus = 1, .model = "L4"});
    UserLimit limit;
    limit.name = "ann";
    limit.limits.gpus_by_model = {{"h200", 0}};
    cluster.declare(limit);
  }
  LimitedSearch search() {
    LimitedSearch made{cluster.state, spec, avoided};
    made.find = [this](std::span<const NodeId> without) -> std::optional<std::vector<Placement>> {
      for (const Node& node : cluster.state.nodes) {
        if (std::find(without.begin(), without.end(), node.id) != without.end()) continue;
        return std::vector<Placement>{first_free(node, spec)};
      }
      return std::nullopt;
    };
    return made;
  }

  TestCluster cluster;
  JobSpec spec = spec_of({.gpus = 1});
  std::vector<NodeId> avoided;
};

TEST_F(WithinLimitsTest, LooksElsewhereWhereTheFirstPlacesAreOverALimit) {
  EXPECT_TRUE(amount_hangs_on_places(cluster.state, spec));
  EXPECT_EQ(first_places(search())->front().node, NodeId(1));
  std::vector<Reason> broken;
  const auto found = places_within_limits(search(), &broken);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->front().node, NodeId(2));
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0].resource, "gpus_milli:h200");
}

TEST_F(WithinLimitsTest, ALimitThatIsExcusedDoesNotCount) {
  std::vector<Reason> broken;
  places_within_limits(search(), &broken);
  LimitedSearch excused = search();
  excused.excused = broken;
  EXPECT_EQ(places_within_limits(excused)->front().node, NodeId(1));
}

TEST_F(WithinLimitsTest, TwoReasonsAreAboutOneLimitWhateverTheAmounts) {
  Reason one;
  one.subject = "ann";
  one.resource = "cores";
  one.needs = 1;
  Reason other = one;
  other.needs = 5;
  EXPECT_TRUE(same_limit(one, other));
  other.resource = "jobs";
  EXPECT_FALSE(same_limit(one, other));
}

// On a node that Slurm has, too, a job of one thread is given the core's other one.
TEST_F(WithinLimitsTest, ThreadsThatCoresAreRoundedUpToCount) {
  JobSpec thread = spec_of({.cores = 1});
  TestCluster plain{1, {.cores = 4}};
  EXPECT_FALSE(amount_hangs_on_places(plain.state, thread));
  plain.declare(Executor{"slurm", "", {"n1"}, true, {}});
  EXPECT_TRUE(amount_hangs_on_places(plain.state, thread));
  UserLimit limit;
  limit.name = thread.user;
  limit.limits.cores = 1;
  plain.declare(limit);
  Placement whole;
  whole.node = NodeId(1);
  whole.cores = {0, 2};
  LimitedSearch search{plain.state, thread, avoided};
  search.find = [&](std::span<const NodeId>) { return std::vector<Placement>{whole}; };
  EXPECT_EQ(places_within_limits(search), std::nullopt);
}

}  // namespace
}  // namespace dove::core
