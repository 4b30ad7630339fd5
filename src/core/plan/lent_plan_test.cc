#include "core/plan/lent_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "core/place/pools_fixture.h"
#include "core/plan/planner.h"

namespace dove::core {
namespace {

// Slurm is lent the devices 0 and 1 and four of the eight cores of n1, and nothing of n2.
class LentPlanTest : public testing::Test {
 protected:
  LentPlanTest() {
    slurm.name = "slurm";
    slurm.nodes = {"n[1-2]"};
    slurm.runs_jobs = true;
    slurm.placeholders = false;
    slurm.lendable = {{{"n1"}, {0, 1}, 4, -1}};
    cluster.declare(slurm);
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }
  static JobSpec its(const Ask& ask = {}) {
    JobSpec spec = spec_of(ask);
    spec.executor = "slurm";
    return spec;
  }
  JobId run(const JobSpec& spec) {
    const JobId id = cluster.submit(spec);
    cluster.launch(id);
    cluster.start(id);
    return id;
  }
  std::optional<FreeBooks> lent(const JobSpec& spec, Instant from, std::uint32_t number = 1) {
    Plan plan;
    note_promises(cluster.state, plan);
    const NodePlan& node_plan = plan_of(cluster.state, plan, NodeId(number));
    const Claim claim{&spec, 0, JobId{}, from, from + seconds(10)};
    return lent_during(cluster.state, node_plan, cluster.node(number), claim);
  }
  // To a job of the executor that asks for three cores for ten seconds.
  void promise(Instant at) {
    const JobId job = cluster.submit(its({.cores = 3, .limit_s = 10}));
    cluster.decided(Promise{job, at, {first_free(cluster.node(1), *cluster.job(job).spec)}, false});
  }
  std::vector<std::int32_t> devices(const JobSpec& spec, Instant from) {
    const std::optional<FreeBooks> books = lent(spec, from);
    return {books->devices.free_milli.begin(), books->devices.free_milli.end()};
  }
  Instant now() const { return cluster.state.now; }

  Executor slurm;
  TestCluster cluster{2, {.cores = 8, .gpus = 4}};
};

TEST_F(LentPlanTest, AJobThatOurAgentsRunMayHaveAll) {
  EXPECT_EQ(lent(spec_of({}), now())->cores.size(), 8u);
  EXPECT_EQ(devices(spec_of({}), now()), (std::vector<std::int32_t>{1000, 1000, 1000, 1000}));
}

TEST_F(LentPlanTest, AJobOfTheExecutorMayHaveWhatIsLent) {
  EXPECT_EQ(lent(its(), now())->cores.size(), 4u);
  EXPECT_EQ(devices(its(), now()), (std::vector<std::int32_t>{1000, 1000, 0, 0}));
  EXPECT_TRUE(lent(its(), now(), 2)->cores.empty()) << "nothing of that node is lent";
}

TEST_F(LentPlanTest, WhatIsLentAndHeldIsFreeOnceItMustBeGone) {
  const JobId running = cluster.submit_and_start({.cores = 6, .gpus = 1, .limit_s = 100});
  EXPECT_EQ(devices(its(), now()), (std::vector<std::int32_t>{0, 1000, 0, 0}));
  EXPECT_EQ(lent(its(), now())->cores.size(), 2u);
  const Instant gone = places_free_at(cluster.state, cluster.job(running));
  EXPECT_EQ(devices(its(), gone), (std::vector<std::int32_t>{1000, 1000, 0, 0}));
  EXPECT_EQ(lent(its(), gone)->cores.size(), 4u);
}

TEST_F(LentPlanTest, WhatTheExecutorRunsOfOursCountsUntilItMustBeGone) {
  const JobId running = run(its({.cores = 3, .limit_s = 100}));
  EXPECT_EQ(lent(its(), now())->cores.size(), 1u);
  EXPECT_EQ(lent(its(), places_free_at(cluster.state, cluster.job(running)))->cores.size(), 4u);
}

TEST_F(LentPlanTest, WhatItRunsForOthersCountsUntilItEnds) {
  ForeignAllocation theirs;
  theirs.id = "7";
  theirs.cores = {0, 1, 2, 3};
  theirs.ends_by = now() + seconds(100);
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), theirs});
  EXPECT_TRUE(lent(its(), now())->cores.empty());
  EXPECT_EQ(lent(its(), now() + seconds(100))->cores.size(), 4u);
}

TEST_F(LentPlanTest, WhatIsPromisedToItCountsWhileItWillHoldIt) {
  const Instant at = now() + seconds(20);
  promise(at);
  EXPECT_EQ(lent(its(), now())->cores.size(), 4u);
  EXPECT_EQ(lent(its(), now() + seconds(15))->cores.size(), 1u);
  EXPECT_EQ(lent(its(), now() + seconds(10'000))->cores.size(), 4u);
}

TEST_F(LentPlanTest, WhatItHoldsOneAfterTheOtherCountsOnce) {
  const JobId running = run(its({.cores = 3, .limit_s = 100}));
  const Instant gone = places_free_at(cluster.state, cluster.job(running));
  promise(gone);
  EXPECT_EQ(lent(its(), gone + seconds(-5))->cores.size(), 1u);
}

TEST_F(LentPlanTest, OfWhatEndsAtDifferentTimesTheMostThatIsHeldAtOnceCounts) {
  for (const std::int32_t i : {0, 1, 2}) {
    ForeignAllocation theirs;
    theirs.id = std::to_string(i);
    theirs.cores = {i};
    theirs.ends_by = now() + seconds(100 * (i + 1));
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), theirs});
  }
  for (const std::int32_t ended : {0, 1, 2, 3}) {
    const std::size_t left = 1 + static_cast<std::size_t>(ended);
    EXPECT_EQ(lent(its(), now() + seconds(100 * ended))->cores.size(), left);
    EXPECT_EQ(lent(its(), now() + seconds(100 * ended + 95))->cores.size(), left);
  }
}

TEST_F(LentPlanTest, ASearchFindsNoMoreThanItWillBeLent) {
  run(its({.cores = 3, .limit_s = 100}));
  Plan plan;
  const JobSpec spec = its();
  PlannedBooks books(cluster.state, plan, {&spec, 0, JobId{}, now(), now() + seconds(10)});
  EXPECT_TRUE(books.is_open(NodeId(1)));
  EXPECT_EQ(books.books(NodeId(1))->cores.size(), 1u);
  EXPECT_FALSE(books.is_open(NodeId(2))) << "nothing of that node is lent";
  EXPECT_FALSE(plan.nodes.holds(NodeId(1))) << "nothing is promised there: that takes no plan";
}

TEST_F(LentPlanTest, ASearchForWholeNodesFindsNoneThatIsInUse) {
  JobSpec spec = its();
  spec.exclusive = true;
  Plan plan;
  const Claim claim{&spec, 0, JobId{}, now(), now() + seconds(10)};
  EXPECT_TRUE(PlannedBooks(cluster.state, plan, claim).is_open(NodeId(1)));
  run(its());
  EXPECT_FALSE(PlannedBooks(cluster.state, plan, claim).is_open(NodeId(1)));
}

// Its groups are searched for one instant after the other.
TEST_F(LentPlanTest, AJobOfSeveralGroupsIsPlannedForWhenItIsLentEnough) {
  const JobId running = run(its({.cores = 3, .limit_s = 100}));
  JobSpec spec = its({.limit_s = 10});
  spec.groups.push_back(spec.groups.front());
  const JobId waiting = cluster.submit(spec);
  Plan plan;
  const FirstFit first_fit;
  const PoolIndexes pools = pool_indexes(cluster.state);
  const auto found = Planner(cluster.state, plan, first_fit, pools).find(cluster.job(waiting));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->start_at, places_free_at(cluster.state, cluster.job(running)));
}

TEST_F(LentPlanTest, APlacementFitsByHowManyCoresItHasAndByWhichDevices) {
  Plan plan;
  const JobSpec spec = its();
  const auto fits = [&](CoreSet cores, std::vector<DeviceGrant> devices) {
    Placement placement;
    placement.node = NodeId(1);
    placement.cores = std::move(cores);
    placement.devices = std::move(devices);
    const Claim claim{&spec, 0, JobId{}, now(), now() + seconds(10)};
    const NodePlan& node_plan = plan_of(cluster.state, plan, NodeId(1));
    return fits_during(cluster.state, node_plan, cluster.node(1), claim, placement);
  };
  EXPECT_TRUE(fits({4, 5, 6, 7}, {{1}})) << "any four of them";
  EXPECT_FALSE(fits({3, 4, 5, 6, 7}, {{1}}));
  EXPECT_FALSE(fits({4, 5}, {{2}})) << "not lent";
}

TEST_F(LentPlanTest, AnExecutorThatIsGoneRestrictsNothing) {
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  EXPECT_EQ(lent(its(), now())->cores.size(), 8u);
}

TEST_F(LentPlanTest, WhereTheNodeIsClosedNothingIsLent) {
  JobSpec whole = its();
  whole.exclusive = true;
  EXPECT_TRUE(lent(whole, now()).has_value());
  cluster.submit_and_start({.limit_s = 100});
  EXPECT_EQ(lent(whole, now()), std::nullopt);
}

}  // namespace
}  // namespace dove::core
