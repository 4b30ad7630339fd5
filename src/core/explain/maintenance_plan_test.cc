#include "core/explain/maintenance_plan.h"

#include <gtest/gtest.h>

#include "core/place/reservation.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"
#include "core/state/hash.h"

namespace dove::core {
namespace {

using Jobs = std::vector<JobId>;

// From SIGKILL to the report that nothing is left (core/place/reservation.cc).
constexpr Span kUntil_reported = seconds(2);

class MaintenancePlanTest : public testing::Test {
 protected:
  struct Wish {
    NodeAction action = NodeAction::kReboot;
    std::int64_t by_s = 0;
    bool now = false;
    std::int64_t at_s = 0;
  };
  // A node is away for 600 s each.
  MaintenancePlan plan(const std::vector<std::uint32_t>& numbers, const Wish& wish) {
    MaintenanceRequest request;
    for (const std::uint32_t number : numbers) request.nodes.push_back(NodeId(number));
    request.request.action = wish.action;
    request.request.now = wish.now;
    if (wish.by_s > 0) request.request.by = in(wish.by_s);
    request.at = in(wish.at_s);
    request.each = seconds(600);
    return plan_maintenance(cluster.state, plain_policies(), request);
  }
  MaintenancePlan plan(const std::vector<std::uint32_t>& numbers) { return plan(numbers, Wish{}); }
  PlannedMaintenance first(const Wish& wish) { return plan({1}, wish).nodes.at(0); }
  Instant in(std::int64_t s) const { return cluster.state.now + seconds(s); }
  Instant gone(JobId job) const { return places_free_at(cluster.state, cluster.job(job)); }

  TestCluster cluster{3};
};

TEST_F(MaintenancePlanTest, AnIdleNodeIsTakenAtOnceAndBackAfterItsTime) {
  const MaintenancePlan planned = plan({2});
  ASSERT_EQ(planned.nodes.size(), 1u);
  EXPECT_EQ(planned.nodes[0].node, NodeId(2));
  EXPECT_EQ(planned.nodes[0].from, in(0));
  EXPECT_EQ(planned.nodes[0].idle, in(0));
  EXPECT_EQ(planned.nodes[0].back, in(600));
  EXPECT_EQ(planned.done, in(600));
}

TEST_F(MaintenancePlanTest, ItIsAskedForAtItsInstant) {
  EXPECT_EQ(first({.at_s = 50}).from, in(50));
  EXPECT_EQ(first({.at_s = 50}).back, in(650));
}

TEST_F(MaintenancePlanTest, TheStateStaysAsItIs) {
  cluster.submit_and_start({.limit_s = 100});
  const std::uint64_t before = state_hash(cluster.state);
  plan({1, 2});
  EXPECT_EQ(state_hash(cluster.state), before);
}

TEST_F(MaintenancePlanTest, NoMoreAreAwayAtOnceThanMayBe) {
  const MaintenancePlan one_by_one = plan({1, 2, 3});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one_by_one.nodes.at(i).from, in(static_cast<std::int64_t>(600 * i)));
  }
  EXPECT_EQ(one_by_one.done, in(1800));
  cluster.state.settings.max_unavailable = 2;
  EXPECT_EQ(plan({1, 2, 3}).done, in(1200));
}

TEST_F(MaintenancePlanTest, NodesThatAreFreeGoFirst) {
  cluster.submit_and_start({.limit_s = 100}, {1});
  const MaintenancePlan planned = plan({1, 2});
  EXPECT_EQ(planned.nodes.at(0).node, NodeId(2));
  EXPECT_EQ(planned.nodes.at(1).node, NodeId(1));
}

TEST_F(MaintenancePlanTest, WhatRunsEndsAtItsTimeLimitAtTheLatest) {
  const JobId job = cluster.submit_and_start({.limit_s = 100});
  const PlannedMaintenance planned = first({});
  EXPECT_EQ(planned.end, Jobs{job});
  EXPECT_EQ(planned.from, in(0));
  EXPECT_EQ(planned.idle, gone(job));
  EXPECT_EQ(planned.back, gone(job) + seconds(600));
}

TEST_F(MaintenancePlanTest, OneWithoutATimeLimitKeepsItForEver) {
  const JobId job = cluster.submit_and_start();
  const MaintenancePlan planned = plan({1, 2});
  EXPECT_EQ(planned.endless, Jobs{job});
  EXPECT_EQ(planned.done, kNever);
  EXPECT_EQ(planned.nodes.at(0).node, NodeId(2));
  EXPECT_EQ(planned.nodes.at(0).back, in(600)) << "the other one waits for nobody";
  EXPECT_EQ(planned.nodes.at(1).idle, kNever);
}

TEST_F(MaintenancePlanTest, UnlessTheNodeIsWantedByAnInstant) {
  const JobId plain = cluster.submit_and_start();
  const JobId saving = cluster.submit_and_start({.preempt = Preempt::kCheckpoint});
  const PlannedMaintenance planned = first({.by_s = 1000});
  EXPECT_EQ(planned.again, Jobs{plain});
  EXPECT_EQ(planned.saved, Jobs{saving});
  EXPECT_TRUE(planned.end.empty());
  EXPECT_EQ(planned.idle, in(1000)) << "what ends late would delay those who wait for the node";
}

// With the time that it is given to save its work, also where the agent sends it no signal.
TEST_F(MaintenancePlanTest, NorIsItKeptByOneThatSavesItsWork) {
  JobSpec spec = spec_of({.preempt = Preempt::kCheckpoint});
  spec.checkpoint_grace = seconds(100);
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  cluster.start(job);
  const PlannedMaintenance planned = first({.by_s = 1000});
  EXPECT_EQ(planned.saved, Jobs{job});
  EXPECT_EQ(planned.idle, in(1000));
}

TEST_F(MaintenancePlanTest, OneThatEndsBeforeThatInstantIsNotStopped) {
  const JobId job = cluster.submit_and_start({.limit_s = 100});
  const PlannedMaintenance planned = first({.by_s = 1000});
  EXPECT_EQ(planned.end, Jobs{job});
  EXPECT_TRUE(planned.again.empty());
  EXPECT_EQ(planned.idle, gone(job));
}

TEST_F(MaintenancePlanTest, WantedNowAllAreStoppedAtOnce) {
  const JobId job = cluster.submit_and_start({.limit_s = 100'000});
  const PlannedMaintenance planned = first({.now = true});
  EXPECT_EQ(planned.again, Jobs{job});
  EXPECT_EQ(planned.idle, in(0) + cluster.job(job).spec->kill_grace + kUntil_reported);
}

TEST_F(MaintenancePlanTest, ANewAgentLeavesWhatRunsAlone) {
  const JobId job = cluster.submit_and_start();
  const PlannedMaintenance planned = first({.action = NodeAction::kUpgradeAgent});
  EXPECT_EQ(planned.go_on, Jobs{job});
  EXPECT_TRUE(planned.end.empty());
  EXPECT_EQ(planned.back, in(600));
}

TEST_F(MaintenancePlanTest, ADrainIsDoneWhenNothingRuns) {
  const JobId job = cluster.submit_and_start({.limit_s = 100}, {1});
  const MaintenancePlan planned = plan({1, 2}, {.action = NodeAction::kDrain});
  EXPECT_EQ(planned.done, gone(job));
  for (const PlannedMaintenance& one : planned.nodes) {
    EXPECT_EQ(one.from, in(0)) << "one waits for no other";
    EXPECT_EQ(one.back, kNever);
  }
}

TEST_F(MaintenancePlanTest, NothingNewIsStartedMeanwhile) {
  cluster.submit({.limit_s = 100'000});
  EXPECT_EQ(plan({1, 2, 3}).done, in(1800));
}

}  // namespace
}  // namespace dove::core
