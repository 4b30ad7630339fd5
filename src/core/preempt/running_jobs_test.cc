#include "core/preempt/running_jobs.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

using Jobs = std::vector<JobId>;

TEST(RunningJobs, AreThoseThatHoldPlaces) {
  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  const JobId plain = cluster.submit_and_start({.gpus = 1});
  const JobId low = cluster.submit_and_start({.gpus = 1, .preempt = Preempt::kRestart});
  cluster.submit({.gpus = 1});
  const RunningJobs running = running_jobs(cluster.state);
  EXPECT_EQ(running.all, (Jobs{plain, low}));
  EXPECT_EQ(running.preemptible, Jobs{low});
  EXPECT_TRUE(running.stopping.empty());
}

TEST(RunningJobs, AreTheSameWhenOnlyWhatWasTouchedIsLookedAt) {
  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  const JobId first = cluster.submit_and_start({.gpus = 1, .preempt = Preempt::kRestart});
  const JobId later = cluster.submit({.gpus = 1, .preempt = Preempt::kRestart});
  RunningJobs running = running_jobs(cluster.state);
  cluster.launch(later);
  cluster.decided(Stop{first, 1, StopReason::kCancelled});
  running.update(cluster.state, Jobs{first, later});
  EXPECT_EQ(running.all, (Jobs{first, later}));
  EXPECT_EQ(running.preemptible, Jobs{later});
  EXPECT_EQ(running.stopping, Jobs{first});
  cluster.tell(PlacementEnded{first, 1, NodeId(1), {}, 0, 0});
  running.update(cluster.state, Jobs{first});
  EXPECT_EQ(running.all, Jobs{later});
  EXPECT_TRUE(running.stopping.empty());
}

}  // namespace
}  // namespace dove::core
