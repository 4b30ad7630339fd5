#include "core/place/lent.h"

#include <gtest/gtest.h>

#include "core/place/candidates.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class Lent : public testing::Test {
 protected:
  Lent() {
    slurm.name = "slurm";
    slurm.nodes = {"n[1-2]"};
    slurm.runs_jobs = true;
    slurm.placeholders = false;
    declare();
    contact(ExecutorContact::kAnswering);
  }
  void declare() { cluster.declare(slurm); }
  void contact(ExecutorContact now) { cluster.tell(ExecutorContactChanged{"slurm", now, ""}); }
  static JobSpec job() {
    JobSpec spec = spec_of({.cores = 2, .gpus = 1});
    spec.executor = "slurm";
    return spec;
  }
  FreeBooks books(std::uint32_t number = 1) const {
    const Node& node = cluster.node(number);
    const auto lent = lent_books(slurm, node, &cluster.state.jobs, view_of(node));
    return lent ? *lent : FreeBooks(node);
  }

  Executor slurm;
  TestCluster cluster{3, {.cores = 8, .gpus = 4, .memory_bytes = std::int64_t{1} << 30}};
};

TEST_F(Lent, WithoutAListAllOfItsNodesAre) {
  EXPECT_TRUE(is_lent(slurm, "n1"));
  EXPECT_FALSE(lent_books(slurm, cluster.node(1), nullptr, view_of(cluster.node(1))).has_value());
  EXPECT_TRUE(allows(job(), cluster.node(1)));
  EXPECT_FALSE(allows(job(), cluster.node(3))) << "it is not on it";
}

TEST_F(Lent, OneThatDoesNotAnswerTakesNothing) {
  contact(ExecutorContact::kMute);
  EXPECT_FALSE(allows(job(), cluster.node(1)));
  EXPECT_TRUE(allows(spec_of({}), cluster.node(1))) << "our agent does";
  contact(ExecutorContact::kAnswering);
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kDown, "gone"});
  EXPECT_FALSE(allows(job(), cluster.node(1)));
  EXPECT_TRUE(allows(job(), cluster.node(2)));
}

TEST_F(Lent, AJobMayAskForAFeatureThatTheExecutorSays) {
  JobSpec wishing = job();
  wishing.features = {"ib"};
  EXPECT_FALSE(allows(wishing, cluster.node(1)));
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kUp, "", {"ib"}});
  EXPECT_TRUE(allows(wishing, cluster.node(1)));
}

TEST_F(Lent, TheFirstEntryThatNamesTheNodeCounts) {
  slurm.lendable = {{{"n1"}, {1, 2}, 4, 500}, {{"n[1-2]"}, {0}, -1, -1}};
  declare();
  EXPECT_EQ(books().devices.free_milli[0], 0);
  EXPECT_EQ(books().devices.free_milli[1], kWholeDevice_milli);
  EXPECT_EQ(books().cores.size(), 4u);
  EXPECT_EQ(books().memory_bytes, 500);
  EXPECT_EQ(books(2).devices.free_milli[0], kWholeDevice_milli);
  EXPECT_EQ(books(2).cores.size(), 8u);
  slurm.lendable.pop_back();
  EXPECT_FALSE(is_lent(slurm, "n2"));
  EXPECT_TRUE(books(2).cores.empty());
}

TEST_F(Lent, WhatItHoldsCountsAndWhatOursHoldDoesNot) {
  slurm.lendable = {{{"n1"}, {0, 1, 2, 3}, 5, -1}};
  declare();
  cluster.launch(cluster.submit(job()));
  EXPECT_EQ(books().cores.size(), 3u);
  cluster.launch(cluster.submit(spec_of({.cores = 2})));
  EXPECT_EQ(books().cores.size(), 3u) << "four are free, three of them may be lent";
  ForeignAllocation foreign;
  foreign.id = "7";
  foreign.cores = cluster.node(1).cores_free.first(2);
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), foreign});
  EXPECT_EQ(books().cores.size(), 1u);
}

// Each has a MiB in the executor's scheduler, which the ledger gives to nobody.
TEST_F(Lent, WhatStandingFencesHoldThereIsNotFree) {
  slurm.placeholders = true;
  slurm.lendable = {{{"n1"}, {3}, -1, -1}};
  declare();
  const std::int64_t all_bytes = cluster.node(1).memory_free_bytes;
  EXPECT_EQ(books().memory_bytes, all_bytes - (3 << 20));
  cluster.launch(cluster.submit(spec_of({.gpus = 1})));
  EXPECT_EQ(books().memory_bytes, cluster.node(1).memory_free_bytes - (3 << 20))
      << "a fence stays when work of ours is on its device";
  EXPECT_EQ(books().cores, cluster.node(1).cores_free) << "they are suspended, and have none";
  slurm.placeholders = false;
  declare();
  EXPECT_EQ(books().memory_bytes, cluster.node(1).memory_free_bytes) << "then there are no fences";
}

// As in a search for victims, where the node is as it will be.
TEST_F(Lent, AJobThatIsPromisedAPlaceThereHasBegunNothing) {
  slurm.lendable = {{{"n1"}, {0}, 5, -1}};
  declare();
  const JobId waits = cluster.submit(job());
  Node node = cluster.node(1);
  node.jobs.push_back(waits);
  const auto lent = lent_books(slurm, node, &cluster.state.jobs, view_of(node));
  ASSERT_TRUE(lent.has_value());
  EXPECT_EQ(lent->cores.size(), 5u);
}

}  // namespace
}  // namespace dove::core
