#include "core/state/books.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

TEST(Books, WhatIsTakenComesBackWhenItIsGiven) {
  TestCluster cluster(1, {.gpus = 4});
  Node node = cluster.node(1);
  const Placement held = first_free(node, spec_of({.cores = 2, .gpus = 1}));
  allocate(node, held);
  EXPECT_EQ(node.cores_free.size(), 6u);
  EXPECT_EQ(node.device_free_milli[0], 0);
  release(node, held);
  EXPECT_EQ(node.cores_free, cluster.node(1).cores_free);
  EXPECT_EQ(node.device_free_milli, cluster.node(1).device_free_milli);
}

TEST(Books, RebuiltBooksAreThoseThatWereKept) {
  TestCluster cluster(1, {.gpus = 4});
  cluster.submit_and_start({.cores = 2, .gpus = 3});
  Node node = cluster.node(1);
  rebuild_books(cluster.state, node);
  EXPECT_EQ(node.cores_free, cluster.node(1).cores_free);
  EXPECT_EQ(node.device_free_milli, cluster.node(1).device_free_milli);
}

TEST(Books, CoresOfTheSystemAreTheLowest) {
  TestCluster cluster(1);
  NodeDeclaration declared;
  declared.name = "n1";
  declared.cores_reserved = 2;
  cluster.declare(declared);
  EXPECT_EQ(usable_cores(cluster.node(1)), (CoreSet{2, 3, 4, 5, 6, 7}));
}

TEST(Books, UsageIsCountedForTheUserTheQueueAndAllAboveIt) {
  TestCluster cluster(1, {.gpus = 4});
  cluster.declare(queue_of("org"));
  cluster.declare(queue_of("team", "org"));
  cluster.submit_and_start({.cores = 2, .gpus = 1, .queue = "team"});
  for (const char* queue : {"team", "org"}) {
    EXPECT_EQ(cluster.state.usage_by_queue.at(queue).gpus_milli, 1000) << queue;
  }
  EXPECT_EQ(cluster.state.usage_by_user.at("ann").cores, 2);
  EXPECT_EQ(cluster.state.usage.jobs_running, 1);
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
}

TEST(Books, APoolGivesTheTimeLimitThatAJobDoesNotName) {
  TestCluster cluster;
  Pool pool;
  pool.name = "short";
  pool.nodes = {"*"};
  pool.time_limit_max = seconds(60);
  cluster.declare(pool);
  JobSpec spec = spec_of({});
  EXPECT_EQ(time_limit_of(cluster.state, spec), Span{});
  spec.pool = "short";
  EXPECT_EQ(time_limit_of(cluster.state, spec), seconds(60));
  spec.time_limit = seconds(5);
  EXPECT_EQ(time_limit_of(cluster.state, spec), seconds(5));
  spec.pool = "none such";
  EXPECT_EQ(pool_of(cluster.state, spec), nullptr);
}

TEST(Books, JobsOnNodesAreFoundOnce) {
  TestCluster cluster(2);
  const JobId gang = cluster.submit_and_start({.tasks = 2}, {1, 2});
  cluster.submit();
  EXPECT_EQ(jobs_on_nodes(cluster.state), std::vector<JobId>{gang});
}

}  // namespace
}  // namespace dove::core
