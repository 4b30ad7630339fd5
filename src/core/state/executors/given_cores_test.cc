#include "core/state/executors/given_cores.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// A node of eight cores, of which a Slurm that wants placeholders chooses its own.
class GivenCores : public testing::Test {
 protected:
  GivenCores() { cluster.declare(Executor{"slurm", "", {"n1"}, true, {}}); }
  ~GivenCores() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  JobId launch(const Ask& ask) {
    const JobId id = cluster.submit(ask);
    cluster.launch(id);
    return id;
  }
  void confirm(JobId job, CoreSet cores, const std::string& executor = "slurm") {
    cluster.tell(PlaceholderMoved{executor, job, 1, NodeId(1), PlaceholderStage::kConfirmed, "1300",
                                  "", std::move(cores)});
  }
  const Placement& place(JobId job) const {
    return cluster.job(job).attempts.back().placements[0].placement;
  }
  CoreSet cores(JobId job) const { return place(job).cores; }

  TestCluster cluster{1, {.cores = 8}};
};

TEST_F(GivenCores, APlacementHasTheCoresThatItsPlaceholderHas) {
  const JobId job = launch({.cores = 2});
  ASSERT_EQ(cores(job), (CoreSet{0, 1}));
  confirm(job, {5, 6});
  EXPECT_EQ(cores(job), (CoreSet{5, 6}));
  EXPECT_EQ(place(job).tasks[0].cores, (CoreSet{5, 6}));
  EXPECT_EQ(cluster.node(1).cores_free, (CoreSet{0, 1, 2, 3, 4, 7}));
  cluster.start(job);
  cluster.end(job);
  EXPECT_EQ(cluster.node(1).cores_free.size(), 8u);
}

TEST_F(GivenCores, EachTaskKeepsAsManyOfItsOwn) {
  const JobId job = cluster.submit({.cores = 2, .tasks = 2});
  Placement two;
  two.node = NodeId(1);
  two.cores = {0, 1, 2, 3};
  two.tasks = {{0, 0, 0, {0, 1}, {}}, {1, 0, 1, {2, 3}, {}}};
  cluster.decided(Launch{job, 1, shared({two})});
  confirm(job, {1, 3, 6, 7});
  EXPECT_EQ(cores(job), (CoreSet{1, 3, 6, 7}));
  EXPECT_EQ(place(job).tasks[0].cores, (CoreSet{1, 6}));
  EXPECT_EQ(place(job).tasks[1].cores, (CoreSet{3, 7}));
}

TEST_F(GivenCores, WhoWasToHaveThemGetsTheOnesThatBecomeFree) {
  const JobId first = launch({.cores = 2});
  const JobId second = launch({.cores = 2});
  confirm(first, {2, 3});
  EXPECT_EQ(cores(first), (CoreSet{2, 3}));
  EXPECT_EQ(cores(second), (CoreSet{0, 1}));
  confirm(second, {0, 5});
  EXPECT_EQ(cores(second), (CoreSet{0, 5}));
  EXPECT_EQ(cores(first), (CoreSet{2, 3})) << "that is settled";
}

TEST_F(GivenCores, WhoIsPromisedThemGetsTheOthersToo) {
  const JobId job = launch({.cores = 2});
  const JobId later = cluster.submit({.cores = 4});
  Placement promised;
  promised.node = NodeId(1);
  promised.cores = {2, 3, 4, 6};
  promised.tasks = {{0, 0, 0, promised.cores, {}}};
  cluster.decided(Promise{later, cluster.state.now + seconds(60), {promised}, false});
  confirm(job, {4, 5});
  EXPECT_EQ(cluster.state.promises.at(later).placements[0].cores, (CoreSet{0, 2, 3, 6}));
}

// Else two would hold the cores that the job was given, once the promise is kept.
TEST_F(GivenCores, WhoIsPromisedThemBesideCoresThatOthersHaveStillGetsTheOthersToo) {
  cluster.state.level = kFirstLevel + 1;
  ForeignAllocation foreign;
  foreign.id = "7";
  foreign.cores = {7};
  foreign.ends_by = cluster.state.now + seconds(60);
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), foreign});
  const JobId job = launch({.cores = 2});
  const JobId later = cluster.submit({.cores = 3});
  Placement promised;
  promised.node = NodeId(1);
  promised.cores = {2, 4, 7};
  promised.tasks = {{0, 0, 0, promised.cores, {}}};
  cluster.decided(Promise{later, foreign.ends_by, {promised}, false});
  confirm(job, {4, 5});
  EXPECT_EQ(cluster.state.promises.at(later).placements[0].cores, (CoreSet{0, 2, 7}));
  EXPECT_EQ(cluster.state.promises.at(later).placements[0].tasks[0].cores, (CoreSet{0, 2, 7}));
}

TEST_F(GivenCores, WhatRunsStaysWhereItIsPinned) {
  const JobId runs = launch({.cores = 2});
  confirm(runs, {});  // by an adapter that does not say
  cluster.start(runs);
  const JobId job = launch({.cores = 2});
  confirm(job, {1, 7});
  EXPECT_EQ(cores(runs), (CoreSet{0, 1}));
  EXPECT_EQ(cores(job), (CoreSet{3, 7})) << "what of its own is left, for the core that is taken";
  confirm(runs, {4, 5});
  EXPECT_EQ(cores(runs), (CoreSet{0, 1})) << "too late";
}

TEST_F(GivenCores, WhatWaitsForNoOrderToStartStaysWhereItWasLaunched) {
  TestCluster alone{1, {.cores = 8}};
  const JobId job = alone.submit({.cores = 2});
  alone.launch(job);
  alone.declare(Executor{"slurm", "", {"n1"}, true, {}});
  alone.tell(PlaceholderMoved{"slurm", job, 1, NodeId(1), PlaceholderStage::kConfirmed, "1300", "",
                              CoreSet{4, 5}});
  EXPECT_EQ(alone.job(job).attempts.back().placements[0].placement->cores, (CoreSet{0, 1}));
}

TEST_F(GivenCores, MoreOrFewerThanItWasGrantedDoNotChangeItsAmount) {
  const JobId more = launch({.cores = 2});
  confirm(more, {4, 5, 6, 7});
  EXPECT_EQ(cores(more), (CoreSet{4, 5}));
  const JobId fewer = launch({.cores = 3});
  ASSERT_EQ(cores(fewer), (CoreSet{0, 1, 2}));
  confirm(fewer, {3});
  EXPECT_EQ(cores(fewer), (CoreSet{1, 2, 3}));
}

TEST_F(GivenCores, CoresThatTheNodeDoesNotHaveAreNotTaken) {
  const JobId job = launch({.cores = 2});
  confirm(job, {7, 200});
  EXPECT_EQ(cores(job), (CoreSet{1, 7}));
}

TEST_F(GivenCores, TheFirstOfTwoExecutorsSays) {
  cluster.declare(Executor{"other", "", {"n1"}, true, {}});
  const JobId job = launch({.cores = 2});
  confirm(job, {4, 5});
  confirm(job, {6, 7}, "other");
  EXPECT_EQ(cores(job), (CoreSet{4, 5}));
}

TEST_F(GivenCores, AnAttemptThatIsOverChangesNothing) {
  const JobId job = launch({.cores = 2});
  cluster.tell(PlaceholderMoved{"slurm", job, 2, NodeId(1), PlaceholderStage::kConfirmed, "1300",
                                "", CoreSet{4, 5}});
  EXPECT_EQ(cores(job), (CoreSet{0, 1}));
}

TEST(CoreNumbers, AreThoseOfPhysicalCores) {
  Inventory plain;
  plain.numa = {{{0, 1, 2, 3}, 0}};
  EXPECT_EQ(threads_of(plain, {1, 3}), (CoreSet{1, 3}));
  EXPECT_EQ(core_numbers(plain, {1, 3}), (CoreSet{1, 3}));
  // Two sockets whose cores the kernel numbers in turn, and then their second threads.
  Inventory threads = plain;
  threads.numa = {{{0, 2, 4, 6}, 0}, {{1, 3, 5, 7}, 0}};
  threads.thread_order = {0, 4, 2, 6, 1, 5, 3, 7};
  threads.threads_per_core = 2;
  EXPECT_EQ(threads_of(threads, {1, 2}), (CoreSet{1, 2, 5, 6}));
  EXPECT_EQ(threads_of(threads, {99}), CoreSet{});
  EXPECT_EQ(core_numbers(threads, {0, 1, 5}), (CoreSet{0, 2}));
  EXPECT_EQ(threads_per_core(threads), 2);
}

// Four cores of two threads each: 0 and 4, 1 and 5, 2 and 6, 3 and 7.
class GivenThreads : public GivenCores {
 protected:
  GivenThreads() {
    Inventory threads = *cluster.node(1).inventory;
    threads.thread_order = {0, 4, 1, 5, 2, 6, 3, 7};
    threads.threads_per_core = 2;
    cluster.state.find_node(NodeId(1))->inventory = std::make_shared<const Inventory>(threads);
  }
  JobId launched_on(const CoreSet& cores) {
    const JobId job = cluster.submit({.cores = static_cast<std::int32_t>(cores.size())});
    Placement placement;
    placement.node = NodeId(1);
    placement.cores = cores;
    placement.tasks = {{0, 0, 0, cores, {}}};
    cluster.decided(Launch{job, 1, shared({placement})});
    return job;
  }
};

// As of logs from before nodes with Slurm gave whole cores.
TEST_F(GivenThreads, HalfACoreMovesWithItsOtherHalf) {
  const JobId half = launched_on({0});
  const JobId other = launched_on({1, 5});
  confirm(half, {1, 5});
  EXPECT_EQ(cores(half), CoreSet{1});
  EXPECT_EQ(cores(other), (CoreSet{0, 4})) << "it waits for its placeholder";
}

TEST_F(GivenThreads, HalfACoreStaysWhereSomebodyIsPinnedToTheOther) {
  const JobId pinned = launched_on({4});
  confirm(pinned, {0, 4});
  cluster.start(pinned);
  const JobId half = launched_on({0});
  confirm(half, {1, 5});
  EXPECT_EQ(cores(half), CoreSet{0});
  EXPECT_EQ(cores(pinned), CoreSet{4});
}

// Less is held than it was granted, and where cores have threads none is cut in two for that.
TEST_F(GivenThreads, CoresChangePlacesWithAllOfTheirThreads) {
  const JobId job = launched_on({0, 1, 4, 5});
  confirm(job, {2, 6});
  EXPECT_EQ(cores(job), (CoreSet{1, 2, 5, 6}));
  EXPECT_EQ(place(job).tasks[0].cores, (CoreSet{1, 2, 5, 6}));
}

}  // namespace
}  // namespace dove::core
