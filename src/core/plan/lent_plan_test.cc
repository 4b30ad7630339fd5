#include "core/plan/lent_plan.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"

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
  std::optional<FreeBooks> lent(const JobSpec& spec, Instant from, std::uint32_t number = 1) {
    Plan plan;
    const NodePlan& node_plan = plan_of(cluster.state, plan, NodeId(number));
    const Claim claim{&spec, 0, JobId{}, from, from + seconds(10)};
    return lent_during(cluster.state, node_plan, cluster.node(number), claim);
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
