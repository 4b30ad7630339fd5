#include "core/explain/explain_index.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ExplainIndexTest : public testing::Test {
 protected:
  ExplainIndexTest() { cluster.state.changes.follow(); }
  // What was noted since, told to the index.
  bool renew() {
    const bool renewed = index.update(cluster.state.changes);
    cluster.state.changes.follow();
    return renewed;
  }
  const Pool& pool() const { return cluster.state.pools.at("default"); }

  TestCluster cluster{2, {.cores = 8, .gpus = 1}};
  ExplainIndex index{cluster.state, plain_policies()};
};

TEST_F(ExplainIndexTest, TheTotalIsThatOfAvailableNodes) {
  EXPECT_EQ(index.total().cores, 16);
  cluster.tell(NodeDisconnected{NodeId(2), /*silent=*/true});
  EXPECT_TRUE(renew());
  EXPECT_EQ(index.total().cores, 8);
  cluster.tell(NodeConnected{NodeId(2), "boot"});
  EXPECT_TRUE(renew());
  EXPECT_EQ(index.total().cores, 16);
}

TEST_F(ExplainIndexTest, JobsThatHoldPlacesFollow) {
  EXPECT_TRUE(index.running().all.empty());
  EXPECT_EQ(index.endless(pool()), 0);
  const JobId job = cluster.submit_and_start({.gpus = 1}, {1});
  EXPECT_TRUE(renew());
  EXPECT_EQ(index.running().all, std::vector<JobId>{job});
  EXPECT_EQ(index.endless(pool()), 1) << "it has no limit";
  cluster.submit_and_start({.gpus = 1, .limit_s = 60}, {2});
  EXPECT_TRUE(renew());
  EXPECT_EQ(index.running().all.size(), 2u);
  EXPECT_EQ(index.endless(pool()), 1);
  cluster.tell(PlacementEnded{job, 1, NodeId(1), {}, 0, 0});
  EXPECT_TRUE(renew());
  EXPECT_EQ(index.endless(pool()), 0);
}

TEST_F(ExplainIndexTest, TheBooksOfAPoolFollow) {
  const JobSpec one = spec_of({.gpus = 1});
  NodeChoice choice(cluster.state, one);
  EXPECT_EQ(index.books(pool()).all().count_with_room(choice), 2);
  cluster.submit_and_start({.gpus = 1}, {1});
  EXPECT_TRUE(renew());
  EXPECT_EQ(index.books(pool()).all().count_with_room(choice), 1);
}

TEST_F(ExplainIndexTest, WithANewNodeAnotherHasToBeMade) {
  (void)index.total();
  cluster.add_node({.cores = 8});
  EXPECT_FALSE(renew());
}

}  // namespace
}  // namespace dove::core
