#include "core/cycle/next_wake.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(NextWake, NothingIsDueOnAQuietCluster) {
  TestCluster cluster(1);
  cluster.submit_and_start();
  EXPECT_EQ(wake_at(cluster.state), kNever);
}

TEST(NextWake, IsTheEarliestOfAll) {
  TestCluster cluster(2);
  cluster.submit_and_start({.limit_s = 500});
  EXPECT_EQ(wake_at(cluster.state), cluster.state.now + seconds(500));
  JobSpec later = spec_of({});
  later.begin_at = cluster.state.now + seconds(100);
  cluster.submit(later);
  EXPECT_EQ(wake_at(cluster.state), cluster.state.now + seconds(100));
  cluster.tell(NodeDisconnected{NodeId(2), false});
  EXPECT_LT(wake_at(cluster.state), cluster.state.now + seconds(100));
}

TEST(NextWake, AnEndedJobIsForgottenInTime) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  cluster.end(job);
  EXPECT_EQ(wake_at(cluster.state), cluster.state.now + cluster.state.settings.ended_jobs_kept);
}

}  // namespace
}  // namespace dove::core
