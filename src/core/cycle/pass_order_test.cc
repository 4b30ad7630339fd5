#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

TEST(PassOrder, AHeldJobIsNotQueuedUntilItIsReleased) {
  TestCluster cluster(1);
  const JobId job = cluster.submit();
  cluster.tell(JobHeld{job});
  EXPECT_TRUE(launched(cluster).empty());
  cluster.tell(JobReleased{job});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{job});
}

TEST(PassOrder, AJobIsQueuedWhenItsBeginTimeHasCome) {
  TestCluster cluster(1);
  JobSpec spec = spec_of({});
  spec.begin_at = cluster.state.now + seconds(10);
  const JobId job = cluster.submit(spec);
  EXPECT_TRUE(launched(cluster).empty());
  cluster.pass(seconds(10));
  EXPECT_EQ(launched(cluster), std::vector<JobId>{job});
}

TEST(PassOrder, SwitchedOffTheOldestGoesFirst) {
  TestCluster cluster(1, {.cores = 1});
  const JobId oldest = cluster.submit();
  cluster.submit({.priority = 5});
  CycleOptions options;
  options.switch_off(Pass::kOrder);
  const auto found = decide_for<Launch>(cluster, options);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].job, oldest);
}

}  // namespace
}  // namespace dove::core
