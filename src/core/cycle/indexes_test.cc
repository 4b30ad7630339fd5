#include "core/cycle/indexes.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class IndexesTest : public testing::Test {
 protected:
  void look() { prepare(cluster.state, indexes, plain_policies(), {}); }

  TestCluster cluster{2, {.gpus = 2}};
  Indexes indexes;
};

TEST_F(IndexesTest, CountWhatThePoolHasFree) {
  look();
  EXPECT_EQ(indexes.pools.at("default").free.gpus_milli, 4000);
  EXPECT_EQ(indexes.total.gpus_milli, 4000);
  cluster.submit_and_start({.gpus = 1});
  look();
  EXPECT_EQ(indexes.pools.at("default").free.gpus_milli, 3000);
  EXPECT_EQ(indexes.total.gpus_milli, 4000);
}

TEST_F(IndexesTest, ANodeThatTakesNoWorkIsInNoPool) {
  look();
  cluster.tell(NodeDisconnected{NodeId(2), true});
  look();
  EXPECT_EQ(indexes.pools.at("default").nodes.size(), 1u);
  EXPECT_EQ(indexes.total.gpus_milli, 2000);
}

TEST_F(IndexesTest, KnowWhoMayBeStoppedAndWhoIsBeing) {
  const JobId job = cluster.submit_and_start({.preempt = Preempt::kRestart});
  look();
  EXPECT_TRUE(indexes.preemptible.contains(job));
  cluster.decided(Stop{job, 1, StopReason::kCancelled});
  look();
  EXPECT_FALSE(indexes.preemptible.contains(job));
  EXPECT_TRUE(indexes.stopping.contains(job));
}

// With arrays of N elements, anything more would be N looks for each change of each element.
TEST_F(IndexesTest, AnElementThatBeginsOrEndsIsToldToItsOwnCounterpartAlone) {
  JobSpec spec = spec_of({});
  spec.array.indices = {0, 1, 2, 3, 4};
  const JobId array = cluster.submit(spec), element(array.value + 1);
  spec.dependencies = {{DependencyKind::kAfterCorr, array, {}}};
  const JobId first = cluster.submit(spec), counterpart(first.value + 1);
  spec.array.indices.clear();
  spec.dependencies = {{DependencyKind::kAfterAny, array, {}}};
  const JobId after_all = cluster.submit(spec);
  const auto told = [this] {
    look();
    std::vector<JobId> ids;
    while (!indexes.to_check.empty()) ids.push_back(indexes.to_check.take_first());
    return ids;
  };
  told();
  // An array's id is that of its first element, too.
  const std::vector<JobId> concerned{first, counterpart, after_all};
  cluster.launch(element);
  EXPECT_TRUE(told().empty()) << "it has not begun";
  cluster.start(element);
  EXPECT_EQ(told(), concerned);
  cluster.leave(element);
  EXPECT_TRUE(told().empty());
  cluster.decided(EndJob{element, Outcome::kCompleted, 0});
  EXPECT_EQ(told(), concerned);
  EXPECT_FALSE(indexes.jobs.at(element).forgettable) << "others of its array live";
}

TEST_F(IndexesTest, AreBuiltAnewWhenSomethingIsDeclared) {
  look();
  Pool half;
  half.name = "half";
  half.nodes = {"n1"};
  cluster.declare(half);
  look();
  EXPECT_EQ(indexes.pools.at("half").nodes.size(), 1u);
}

TEST_F(IndexesTest, OfOneStateDoNotServeItsFork) {
  look();
  TestCluster fork = cluster;
  fork.submit_and_start({.gpus = 2});
  prepare(fork.state, indexes, plain_policies(), {});
  EXPECT_EQ(indexes.pools.at("default").free.gpus_milli, 2000);
}

}  // namespace
}  // namespace dove::core
