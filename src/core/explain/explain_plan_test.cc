#include "core/explain/explain_plan.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ExplainPlan : public testing::Test {
 protected:
  // What is added to the causes that are known already.
  std::vector<Reason> added(JobId job, std::vector<Reason> known = {}) {
    ExplainIndex index(cluster.state, plain_policies());
    WhatIf& available = index.books(cluster.state.pools.at("default")).available();
    const auto count = static_cast<std::ptrdiff_t>(known.size());
    explain_plan(index, available, cluster.job(job), known);
    return {known.begin() + count, known.end()};
  }
  void promise(JobId job, Span in, std::vector<std::int32_t> devices) {
    Placement place;
    place.node = NodeId(1);
    for (const std::int32_t device : devices) place.devices.push_back({device});
    place.cores = {0};
    cluster.decided(Promise{job, cluster.state.now + in, {place}, false});
  }
  static std::vector<Reason> shortage() {
    Reason reason;
    reason.kind = ReasonKind::kResources;
    reason.resource = "gpus";
    return {reason};
  }

  TestCluster cluster{1, {.gpus = 2}};
};

TEST_F(ExplainPlan, WhatIsPromisedToAnotherIsNamedWithItsInstant) {
  const JobId other = cluster.submit({.gpus = 2});
  const JobId job = cluster.submit({.gpus = 1});
  EXPECT_TRUE(added(job).empty());
  promise(other, seconds(60), {0, 1});
  const auto reasons = added(job);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].kind, ReasonKind::kPromised);
  EXPECT_EQ(reasons[0].other, other);
  EXPECT_EQ(reasons[0].until, cluster.state.now + seconds(60));
}

TEST_F(ExplainPlan, WhereThereIsRoomBesideThePromiseItIsNoCause) {
  promise(cluster.submit({.gpus = 1}), seconds(60), {0});
  EXPECT_TRUE(added(cluster.submit({.gpus = 1})).empty());
  EXPECT_FALSE(added(cluster.submit({.gpus = 2})).empty());
}

TEST_F(ExplainPlan, OfSeveralPromisesTheFirstThatIsDueIsNamed) {
  const JobId late = cluster.submit({.gpus = 1});
  const JobId soon = cluster.submit({.gpus = 1});
  promise(late, seconds(90), {0});
  promise(soon, seconds(60), {1});
  const auto reasons = added(cluster.submit({.gpus = 1}));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].other, soon);
}

TEST_F(ExplainPlan, BehindJobsWithoutATimeLimitNothingCanBePlanned) {
  cluster.submit_and_start({.gpus = 2});
  const JobId job = cluster.submit({.gpus = 1});
  EXPECT_TRUE(added(job).empty()) << "it lacks no places that are known of";
  const auto reasons = added(job, shortage());
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].kind, ReasonKind::kNoPlan);
  EXPECT_EQ(reasons[0].count, 1);
}

// Then nobody has looked for a plan for it.
TEST_F(ExplainPlan, AQueueWithAllItsPromisesSaysNothingOfPlans) {
  Queue queue = queue_of("default");
  queue.promises = 1;
  cluster.declare(queue);
  cluster.submit_and_start({.gpus = 2});
  const JobId first = cluster.submit({.gpus = 1});
  const JobId job = cluster.submit({.gpus = 1});
  EXPECT_EQ(added(job, shortage()).size(), 1u);
  promise(first, seconds(60), {0});
  EXPECT_TRUE(added(job, shortage()).empty());
}

}  // namespace
}  // namespace dove::core
