#include "core/cycle/wake.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(Wake, OrdersHaveADeadlineAndRunningJobsNone) {
  TestCluster cluster(1);
  const JobId job = cluster.submit();
  cluster.launch(job);
  EXPECT_EQ(deadline_at(cluster.state, cluster.job(job)),
            cluster.state.now + cluster.state.settings.effect_deadline);
  cluster.start(job);
  EXPECT_EQ(deadline_at(cluster.state, cluster.job(job)), kNever);
}

TEST(Wake, AWaitingJobWakesAtItsBeginTimeAndARunningOneAtItsLimit) {
  TestCluster cluster(1);
  JobSpec later = spec_of({});
  later.begin_at = cluster.state.now + seconds(10);
  EXPECT_EQ(wake_of(cluster.state, cluster.job(cluster.submit(later))),
            cluster.state.now + seconds(10));
  const JobId job = cluster.submit_and_start({.limit_s = 60});
  EXPECT_EQ(wake_of(cluster.state, cluster.job(job)), cluster.state.now + seconds(60));
  cluster.end(job);
  EXPECT_EQ(wake_of(cluster.state, cluster.job(job)), kNever);
}

}  // namespace
}  // namespace dove::core
