#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

class PassPurge : public testing::Test {
 protected:
  PassPurge() {
    ClusterSettings settings;
    settings.ended_jobs_kept = seconds(100);
    cluster.declare(settings);
    job = cluster.submit_and_start();
    cluster.end(job);
  }

  TestCluster cluster{1};
  JobId job;
};

TEST_F(PassPurge, AnEndedJobIsForgottenWhenItsTimeIsOver) {
  EXPECT_TRUE(decide_for<ForgetJob>(cluster).empty());
  cluster.pass(seconds(100));
  EXPECT_EQ(decide_for<ForgetJob>(cluster).size(), 1u);
  EXPECT_EQ(cluster.state.find_job(job), nullptr);
}

TEST_F(PassPurge, KeepsUpWithACycleThatEndsMany) {
  ClusterSettings settings;
  settings.ended_jobs_max = 10;
  cluster.declare(settings);
  JobSpec spec = spec_of({});
  spec.hold = true;
  for (int i = 0; i < 3000; ++i) cluster.tell(JobCancelRequested{cluster.submit(spec)});
  EXPECT_EQ(decide_for<ForgetJob>(cluster).size(), 2991u) << "with the one that had ended before";
}

TEST_F(PassPurge, NotWhileAnotherNamesIt) {
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kAfterOk, job, {}}};
  spec.hold = true;
  cluster.submit(spec);
  cluster.pass(seconds(100));
  EXPECT_TRUE(decide_for<ForgetJob>(cluster).empty());
}

}  // namespace
}  // namespace dove::core
