#include "core/place/node_search.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"

namespace dove::core {
namespace {

class NodeSearchTest : public testing::Test {
 protected:
  // How many tasks each node gets, by its number; empty: there is no room.
  std::map<std::uint32_t, std::size_t> tasks_by_node(const JobSpec& spec) {
    const RankedNodes ranked = ranked_nodes(cluster.state);
    const auto found =
        find_places_among(ranked, candidates_of(cluster.state, ranked), FirstFit(), spec, {});
    std::map<std::uint32_t, std::size_t> tasks;
    for (const Placement& one : found.value_or(std::vector<Placement>{})) {
      tasks[one.node.value] = one.tasks.size();
    }
    return tasks;
  }
  using Tasks = std::map<std::uint32_t, std::size_t>;

  TestCluster cluster{3, {.cores = 4}};
};

TEST_F(NodeSearchTest, AGangThatFitsOnOneNodeGoesToOne) {
  EXPECT_EQ(tasks_by_node(spec_of({.tasks = 4})), (Tasks{{1, 4}}));
}

TEST_F(NodeSearchTest, ElseItGoesToAsFewAsWillDo) {
  EXPECT_EQ(tasks_by_node(spec_of({.tasks = 6})), (Tasks{{1, 4}, {2, 2}}));
}

TEST_F(NodeSearchTest, AllOfItOrNothing) {
  EXPECT_TRUE(tasks_by_node(spec_of({.tasks = 13})).empty());
}

TEST_F(NodeSearchTest, SoManyOnEachNodeWhereTheJobSaysSo) {
  JobSpec spec = spec_of({.tasks = 6});
  spec.groups[0].tasks_per_node = 2;
  EXPECT_EQ(tasks_by_node(spec), (Tasks{{1, 2}, {2, 2}, {3, 2}}));
}

TEST_F(NodeSearchTest, AJobMaySpreadAsWidelyAsItCan) {
  JobSpec spec = spec_of({.tasks = 6});
  spec.spread = Spread::kSpread;
  EXPECT_EQ(tasks_by_node(spec), (Tasks{{1, 2}, {2, 2}, {3, 2}}));
}

TEST_F(NodeSearchTest, TheNumberOfNodesIsKept) {
  JobSpec spec = spec_of({.tasks = 4});
  spec.groups[0].nodes_min = 2;
  spec.groups[0].nodes_max = 2;
  EXPECT_EQ(tasks_by_node(spec), (Tasks{{1, 2}, {2, 2}}));
}

TEST_F(NodeSearchTest, GroupsAreTriedHardestFirstWhenTheirOwnOrderFails) {
  JobSpec spec = spec_of({.cores = 1, .tasks = 9});
  TaskGroup large = spec.groups.front();
  large.tasks = 1;
  large.per_task.cores = 3;
  spec.groups.push_back(large);
  const auto found = tasks_by_node(spec);
  std::size_t all = 0;
  for (const auto& [node, tasks] : found) all += tasks;
  EXPECT_EQ(all, 10u);
}

TEST_F(NodeSearchTest, RoomIsCountedUpToWhatIsAsked) {
  const JobSpec spec = spec_of({.cores = 3, .tasks = 8});
  const RankedNodes ranked = ranked_nodes(cluster.state);
  EXPECT_EQ(room_among(ranked, candidates_of(cluster.state, ranked), FirstFit(), spec,
                       spec.groups.front(), {}),
            3);
}

}  // namespace
}  // namespace dove::core
