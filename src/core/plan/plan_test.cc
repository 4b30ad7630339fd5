#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"

namespace dove::core {
namespace {

// A node of four GPUs, three of which are held for 100 s.
class PlanTest : public testing::Test {
 protected:
  PlanTest() { running = cluster.submit_and_start({.cores = 2, .gpus = 3, .limit_s = 100}); }
  Instant in(std::int64_t s) const { return cluster.state.now + seconds(s); }
  const NodePlan& node_plan() { return plan_of(cluster.state, plan, NodeId(1)); }
  std::optional<FreeBooks> free_from(Instant from, Instant to) {
    const JobSpec spec = spec_of({});
    const Claim claim{&spec, 0, JobId{}, from, to};
    return free_during(cluster.state, node_plan(), cluster.node(1), claim);
  }

  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  JobId running;
  Plan plan;
};

TEST_F(PlanTest, WhatRunsIsFreeWhenItMustBeGone) {
  const Instant gone = places_free_at(cluster.state, cluster.job(running));
  ASSERT_EQ(node_plan().steps.size(), 2u);
  EXPECT_EQ(node_plan().steps[0].free.gpus_milli, 1000);
  EXPECT_EQ(node_plan().steps[1].at, gone);
  EXPECT_EQ(node_plan().steps[1].free.gpus_milli, 4000);
  EXPECT_EQ(next_change(node_plan(), cluster.state.now), gone);
}

TEST_F(PlanTest, BooksByIdFollowTheInstant) {
  const Instant gone = places_free_at(cluster.state, cluster.job(running));
  EXPECT_EQ(free_from(cluster.state.now, in(10))->cores.size(), 6u);
  EXPECT_EQ(free_from(gone, gone + seconds(10))->cores.size(), 8u);
}

TEST_F(PlanTest, APromiseTakesWhatItNamesFromItsInstantOn) {
  const JobId waiting = cluster.submit({.gpus = 1, .limit_s = 50});
  const Placement last = first_free(cluster.node(1), *cluster.job(waiting).spec);
  cluster.decided(Promise{waiting, in(20), {last}, false});
  note_promises(cluster.state, plan);
  EXPECT_EQ(free_from(in(0), in(10))->devices.free_milli[3], kWholeDevice_milli);
  EXPECT_EQ(free_from(in(0), in(30))->devices.free_milli[3], 0);
}

TEST(Plan, NodesThatJoinAreReservedWhicheverIsAskedAboutFirst) {
  TestCluster cluster(4, {.cores = 1});
  Reservation all;
  all.name = "all";
  all.nodes = {"*"};
  all.starts_at = cluster.state.now;
  all.ends_at = cluster.state.now + seconds(100);
  cluster.state.reservations[all.name] = all;
  Plan plan;
  plan.reserves = true;  // noted when there was no node
  note_reserved(cluster.state, plan, cluster.node(3));
  note_reserved(cluster.state, plan, cluster.node(2));
  EXPECT_TRUE(plan.is_reserved(NodeId(1)) && plan.is_reserved(NodeId(2)));
  EXPECT_TRUE(plan.is_reserved(NodeId(3)));
  EXPECT_FALSE(plan.is_reserved(NodeId(4))) << "nobody has asked yet";
}

TEST_F(PlanTest, ABoundBySumsIsNeverTooLate) {
  NodeNeeds needs;
  needs.gpus_milli = 4000;
  const JobSpec spec = spec_of({});
  const Instant at =
      earliest_by_sums(cluster.state, node_plan(), needs, {spec}, cluster.state.now, seconds(10));
  EXPECT_EQ(at, places_free_at(cluster.state, cluster.job(running)));
  needs.gpus_milli = 5000;
  EXPECT_EQ(
      earliest_by_sums(cluster.state, node_plan(), needs, {spec}, cluster.state.now, seconds(10)),
      kNever);
}

TEST_F(PlanTest, HoldsAllOnlyWhatIsFree) {
  const Placement held = cluster.job(running).attempts[0].placements[0].placement;
  EXPECT_FALSE(holds_all(FreeBooks(cluster.node(1)), held));
  cluster.end(running);
  EXPECT_TRUE(holds_all(FreeBooks(cluster.node(1)), held));
}

}  // namespace
}  // namespace dove::core
