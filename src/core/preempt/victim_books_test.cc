#include "core/preempt/victim_books.h"

#include <gtest/gtest.h>

#include "core/preempt/foreign_jobs.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// A device that Slurm has given to a job of its own, and the ledger to one of ours that is not to
// begin there (only_gets_room): no finding closes it, and the books count nothing of it.
class VictimBooksTest : public testing::Test {
 protected:
  VictimBooksTest() {
    Executor executor{"slurm", "", {"n1"}, true, {}};
    executor.preempts = {"batch"};
    executor.queues = {{"lab", "research"}};
    cluster.declare(queue_of("research"));
    cluster.declare(executor);
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
    JobSpec spec = spec_of({.gpus = 1});
    spec.executor = "slurm";
    spec.foreign_job = "7";
    const JobId ours = cluster.submit(spec);
    cluster.launch(ours);
    ForeignAllocation theirs;
    theirs.id = "7";
    theirs.cores = {1};
    theirs.devices = {0};
    theirs.user = "ada";
    theirs.account = "lab";
    theirs.partition = "batch";
    theirs.may_requeue = true;
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), theirs});
    Victim first, second;
    first.job = ours;
    second.foreign = foreign_jobs(cluster.state).at(0);
    victims = {first, second};
  }

  TestCluster cluster{1, {.cores = 4, .gpus = 2}};
  std::vector<Victim> victims;
};

TEST_F(VictimBooksTest, ADeviceThatTwoHaveIsFreeWhenBothAreGone) {
  VictimBooks books(cluster.state, {}, {});
  books.list(victims);
  const auto free = [&](bool ours, bool theirs) {
    return books.without({ours, theirs})[NodeId(1)].device_free_milli[0];
  };
  EXPECT_EQ(free(false, false), 0);
  EXPECT_EQ(free(true, false), 0);
  EXPECT_EQ(free(false, true), 0);
  EXPECT_EQ(free(true, true), 1000);
}

TEST_F(VictimBooksTest, WhatIsHeldAgainLeavesTheBooksAsTheyWere) {
  VictimBooks books(cluster.state, {}, {});
  books.list(victims);
  for (const std::size_t first : {0, 1}) {
    Node node = books.without({true, true})[NodeId(1)];
    books.hold(node, *books.piece(NodeId(1), first));
    EXPECT_EQ(node.device_free_milli[0], 0);
    books.hold(node, *books.piece(NodeId(1), 1 - first));
    EXPECT_EQ(node.device_free_milli[0], 0);
    books.release(node, *books.piece(NodeId(1), first));
    EXPECT_EQ(node.device_free_milli[0], 0);
    books.release(node, *books.piece(NodeId(1), 1 - first));
    EXPECT_EQ(node.device_free_milli[0], 1000);
  }
}

}  // namespace
}  // namespace dove::core
