#include "core/plan/foreign_holds.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/place/pools_fixture.h"
#include "core/plan/planner.h"

namespace dove::core {
namespace {

// A node of four GPUs that a Slurm uses, too.
class ForeignHoldsTest : public testing::Test {
 protected:
  ForeignHoldsTest() {
    cluster.tell(LevelRaised{kNewestLevel});
    cluster.declare(Executor{"slurm", "", {"n1"}, false, {}});
  }

  Instant in(std::int64_t s) const { return cluster.state.now + seconds(s); }
  void observe(const std::string& id, const std::vector<std::int32_t>& devices, Instant ends_by,
               const CoreSet& cores = {0, 1}) {
    ForeignAllocation one;
    one.id = id;
    one.cores = cores;
    one.devices = devices;
    one.memory_bytes = 100;
    one.ends_by = ends_by;
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), std::move(one)});
    plan = Plan();
  }
  std::optional<FreeBooks> free_from(Instant from, const JobSpec& spec = spec_of({})) {
    const Claim claim{&spec, 0, JobId{}, from, from + seconds(10)};
    note_to_come(cluster.state, plan);
    return free_during(cluster.state, plan_of(cluster.state, plan, NodeId(1)), cluster.node(1),
                       claim);
  }
  // How many devices are free then, and how many cores.
  std::pair<std::int64_t, std::size_t> free_at(Instant at) {
    const std::optional<FreeBooks> books = free_from(at);
    std::int64_t devices = 0;
    for (const std::int32_t milli : books->devices.free_milli) {
      devices += milli / kWholeDevice_milli;
    }
    return {devices, books->cores.size()};
  }
  std::optional<Planned> find(const Ask& ask) {
    pools = pool_indexes(cluster.state);
    return Planner(cluster.state, plan, first_fit, pools).find(cluster.job(cluster.submit(ask)));
  }

  using Free = std::pair<std::int64_t, std::size_t>;
  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  FirstFit first_fit;
  Plan plan;
  PoolIndexes pools;
};

TEST_F(ForeignHoldsTest, WhatIsForeignIsFreeWhenItSaysThatItEnds) {
  observe("7", {0, 2}, in(100));
  EXPECT_EQ(free_at(in(0)), Free(2, 6));
  EXPECT_EQ(free_at(in(99)), Free(2, 6));
  EXPECT_EQ(free_at(in(100)), Free(4, 8));
  EXPECT_EQ(free_from(in(100))->memory_bytes, 1000);
  const NodePlan& node = plan_of(cluster.state, plan, NodeId(1));
  ASSERT_EQ(node.steps.size(), 2u);
  EXPECT_EQ(node.steps[1].at, in(100));
  EXPECT_EQ(node.steps[1].free.gpus_milli, 4000);
  const auto planned = find({.gpus = 4});
  ASSERT_TRUE(planned.has_value());
  EXPECT_EQ(planned->start_at, in(100));
}

TEST_F(ForeignHoldsTest, OneThatSaysNoEndHoldsWithoutEnd) {
  observe("7", {0}, kNever);
  EXPECT_FALSE(has_foreign_ends(cluster.node(1)));
  EXPECT_EQ(free_at(in(1'000'000)), Free(3, 6));
  EXPECT_FALSE(find({.gpus = 4}).has_value());
}

// As for a job of ours that is over its limit.
TEST_F(ForeignHoldsTest, OneThatShouldHaveEndedHoldsWithoutEnd) {
  observe("7", {0}, in(100));
  ASSERT_EQ(free_at(in(100)), Free(4, 8));
  cluster.pass(seconds(100));
  EXPECT_EQ(free_at(in(1000)), Free(3, 6)) << "the kept plan is over, too";
  EXPECT_FALSE(find({.gpus = 4}).has_value());
  observe("7", {0}, in(50));
  EXPECT_EQ(find({.gpus = 4})->start_at, in(50)) << "its limit was extended";
}

// Slurm gives cores and a device to the next job while the processes of the last one are being
// ended. Such a device is closed until either ends: nothing is planned on it.
TEST_F(ForeignHoldsTest, WhatTwoHoldIsFreeWhenTheLastHasEnded) {
  observe("7", {0}, in(100));
  observe("8", {0, 1}, in(300), {1, 2});
  EXPECT_EQ(free_at(in(100)), Free(2, 6)) << "core 0 alone is free, beside those that were";
  EXPECT_EQ(free_at(in(300)), Free(3, 8));
  const NodePlan& node = plan_of(cluster.state, plan, NodeId(1));
  EXPECT_EQ(node.steps.back().free.gpus_milli, 3000);
  EXPECT_EQ(node.steps.back().free.cores, 8);
}

TEST_F(ForeignHoldsTest, WhatAJobOfOursHasTooIsFreeWhenBothHaveEnded) {
  const JobId running = cluster.submit_and_start({.cores = 2, .gpus = 1, .limit_s = 100});
  const CoreSet cores = cluster.job(running).attempts[0].placements[0].placement->cores;
  const Instant gone = places_free_at(cluster.state, cluster.job(running));
  observe("7", {}, gone + seconds(-50), cores);
  EXPECT_EQ(free_at(gone + seconds(-50)), Free(3, 6));
  EXPECT_EQ(free_at(gone), Free(4, 8));
  observe("7", {}, gone + seconds(50), cores);
  EXPECT_EQ(free_at(gone), Free(4, 6));
  EXPECT_EQ(free_at(gone + seconds(50)), Free(4, 8));
}

TEST_F(ForeignHoldsTest, AnExclusiveJobWaitsForTheLastOfThem) {
  observe("7", {0}, in(100));
  observe("8", {1}, in(200), {2, 3});
  JobSpec alone = spec_of({});
  alone.exclusive = true;
  EXPECT_FALSE(free_from(in(100), alone).has_value());
  EXPECT_TRUE(free_from(in(200), alone).has_value());
}

// Two cores, from 100 s to 300 s from now.
TEST_F(ForeignHoldsTest, WhatIsKeptForOthersLaterIsFreeUntilThen) {
  ForeignAllocation kept;
  kept.id = "reservation:course";
  kept.cores = {6, 7};
  kept.started_at = in(100);
  kept.ends_by = in(300);
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), kept});
  EXPECT_EQ(cluster.node(1).cores_free.size(), 8u) << "in the books it is not held";
  EXPECT_EQ(free_at(in(80)), Free(4, 8));
  EXPECT_EQ(free_at(in(91)), Free(4, 6)) << "ten seconds cross its begin";
  EXPECT_EQ(free_at(in(299)), Free(4, 6));
  EXPECT_EQ(free_at(in(300)), Free(4, 8));
  JobSpec alone = spec_of({});
  alone.exclusive = true;
  EXPECT_FALSE(free_from(in(91), alone).has_value());
  EXPECT_EQ(find({.cores = 6, .limit_s = 500})->start_at, in(0));
  EXPECT_EQ(find({.cores = 7, .limit_s = 500})->start_at, in(300));
  const std::vector<NodeId> touched{NodeId(1)};
  const std::vector<NodeId> none;
  const std::vector<JobId> no_jobs;
  note_changes(cluster.state, plan, {none, touched, no_jobs});
  EXPECT_FALSE(plan.is_empty());
  cluster.pass(seconds(150));
  EXPECT_EQ(free_at(cluster.state.now), Free(4, 6)) << "it was not told that it has begun";
  kept.started_at = {};
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), kept});
  EXPECT_EQ(cluster.node(1).cores_free.size(), 6u);
  note_changes(cluster.state, plan, {none, touched, no_jobs});
  EXPECT_TRUE(plan.is_empty());
  EXPECT_TRUE(plan.has_future());
}

TEST_F(ForeignHoldsTest, ThePlanIsKeptAsItIsBuiltAnew) {
  observe("7", {0}, in(100));
  const std::vector<NodeId> touched{NodeId(1)};
  const std::vector<NodeId> none;
  const std::vector<JobId> no_jobs;
  note_changes(cluster.state, plan, {none, touched, no_jobs});
  EXPECT_TRUE(plan.has_future());
  cluster.tell(ForeignAllocationEnded{"slurm", NodeId(1), "7"});
  note_changes(cluster.state, plan, {none, touched, no_jobs});
  EXPECT_FALSE(plan.has_future());
}

}  // namespace
}  // namespace dove::core
