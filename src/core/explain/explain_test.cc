#include "core/explain/explain.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ExplainTest : public testing::Test {
 protected:
  std::vector<ReasonKind> why(JobId id) {
    std::vector<ReasonKind> kinds;
    for (const Reason& reason : explain(cluster.state, plain_policies(), id)) {
      kinds.push_back(reason.kind);
    }
    return kinds;
  }
  bool says(JobId id, ReasonKind kind) {
    const auto kinds = why(id);
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }

  TestCluster cluster{1, {.cores = 8, .gpus = 2}};
};

TEST_F(ExplainTest, ARunningJobNeedsNoReason) {
  EXPECT_TRUE(why(cluster.submit_and_start()).empty());
}

TEST_F(ExplainTest, AHeldJobIsHeld) {
  const JobId job = cluster.submit();
  cluster.tell(JobHeld{job});
  EXPECT_TRUE(says(job, ReasonKind::kHeld));
}

TEST_F(ExplainTest, AHeldJobOfAnExecutorNamesWhereItsUserLetsItGo) {
  JobSpec spec = spec_of({});
  spec.executor = "slurm";
  spec.foreign_job = "17";
  const JobId job = cluster.submit(spec);
  cluster.tell(JobHeld{job});
  const auto reasons = explain(cluster.state, plain_policies(), job);
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].kind, ReasonKind::kHeld);
  EXPECT_EQ(reasons[0].level, "slurm job 17");
}

TEST_F(ExplainTest, WhatOthersHoldIsAShortage) {
  cluster.submit_and_start({.gpus = 2});
  EXPECT_TRUE(says(cluster.submit({.gpus = 1}), ReasonKind::kResources));
}

TEST_F(ExplainTest, WhatNoNodeHasNeverFits) {
  EXPECT_TRUE(says(cluster.submit({.gpus = 3}), ReasonKind::kNeverFits));
}

TEST_F(ExplainTest, NodesThatAreNotThereAreToldOf) {
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_TRUE(says(cluster.submit(), ReasonKind::kNodesUnavailable));
}

TEST_F(ExplainTest, ADependencyIsNamed) {
  const JobId first = cluster.submit_and_start();
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kAfterOk, first, {}}};
  const auto reasons = explain(cluster.state, plain_policies(), cluster.submit(spec));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].kind, ReasonKind::kDependency);
  EXPECT_EQ(reasons[0].other, first);
}

TEST_F(ExplainTest, AJobThatIsNotSubmittedIsExplainedAsIfItWere) {
  cluster.submit_and_start({.gpus = 2});
  cluster.submit({.gpus = 1});
  for (const Ask& ask : {Ask{.gpus = 1}, Ask{.gpus = 3}, Ask{.cores = 1}}) {
    const auto spec = std::make_shared<const JobSpec>(spec_of(ask));
    const auto tried = explain(cluster.state, plain_policies(), job_of(cluster.state, spec));
    State with(cluster.state);
    const JobId id(with.next_job);
    apply(with, StampedEvent{JobSubmitted{spec}, {}});
    const auto submitted = explain(with, plain_policies(), id);
    ASSERT_EQ(tried.size(), submitted.size());
    for (std::size_t i = 0; i < tried.size(); ++i) {
      EXPECT_EQ(tried[i].kind, submitted[i].kind);
      EXPECT_EQ(tried[i].other, submitted[i].other);
    }
  }
}

}  // namespace
}  // namespace dove::core
