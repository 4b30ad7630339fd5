#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

TEST(PassPlace, LaunchesInOrderWhatHasRoom) {
  TestCluster cluster(1, {.gpus = 4});
  const JobId first = cluster.submit({.gpus = 3});
  cluster.submit({.gpus = 2});
  const JobId third = cluster.submit({.gpus = 1});
  EXPECT_EQ(launched(cluster), (std::vector<JobId>{first, third}));
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
}

TEST(PassPlace, HigherPriorityGoesFirst) {
  TestCluster cluster(1, {.gpus = 1});
  cluster.submit({.gpus = 1});
  const JobId urgent = cluster.submit({.gpus = 1, .priority = 10});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{urgent});
}

TEST(PassPlace, AGangIsLaunchedWholeOrNotAtAll) {
  TestCluster cluster(2, {.gpus = 2});
  const JobId small = cluster.submit_and_start({.gpus = 2});
  const JobId gang = cluster.submit({.gpus = 2, .tasks = 2});
  EXPECT_TRUE(launched(cluster).empty());
  cluster.end(small);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{gang});
}

TEST(PassPlace, ALimitKeepsWhatWouldFit) {
  TestCluster cluster(1, {.gpus = 4});
  Queue queue = queue_of("team");
  queue.limits.gpus_milli = 1000;
  cluster.declare(queue);
  const JobId first = cluster.submit({.gpus = 1, .queue = "team"});
  cluster.submit({.gpus = 1, .queue = "team"});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{first});
}

TEST(PassPlace, NodesThatAJobAvoidsAreTakenOnlyForWantOfOthers) {
  TestCluster cluster(1);
  const JobId job = cluster.submit();
  cluster.state.find_job(job)->nodes_avoided = {NodeId(1)};
  EXPECT_EQ(launched(cluster), std::vector<JobId>{job});
}

}  // namespace
}  // namespace dove::core
