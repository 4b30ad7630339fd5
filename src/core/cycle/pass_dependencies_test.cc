#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

TEST(PassDependencies, EndsWhatCanNeverStart) {
  TestCluster cluster(1);
  const JobId first = cluster.submit_and_start();
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kAfterOk, first, {}}};
  const JobId next = cluster.submit(spec);
  EXPECT_TRUE(decide_for<EndJob>(cluster).empty());
  cluster.end(first, Outcome::kFailed);
  const auto ended = decide_for<EndJob>(cluster);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].job, next);
  EXPECT_EQ(ended[0].outcome, Outcome::kDependencyNeverMet);
}

TEST(PassDependencies, AChainStartsOneByOne) {
  TestCluster cluster(1);
  const JobId first = cluster.submit();
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kAfterOk, first, {}}};
  const JobId next = cluster.submit(spec);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{first});
  cluster.start(first);
  cluster.end(first);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{next});
}

}  // namespace
}  // namespace dove::core
