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

class PassPurgeOfArray : public PassPurge {
 protected:
  PassPurgeOfArray() {
    cluster.decided(ForgetJob{job});
    JobSpec spec = spec_of({});
    spec.array.indices = {0, 1, 2};
    array = cluster.submit(spec);
  }
  JobId element(std::uint64_t index) const { return JobId(array.value + index); }
  void end(std::uint64_t index, Outcome outcome = Outcome::kCompleted) {
    cluster.launch(element(index));
    cluster.start(element(index));
    cluster.end(element(index), outcome);
  }
  std::vector<JobId> forgotten() {
    std::vector<JobId> ids;
    for (const ForgetJob& each : decide_for<ForgetJob>(cluster)) ids.push_back(each.job);
    return ids;
  }

  JobId array;
};

TEST_F(PassPurgeOfArray, AllOfItIsKnownUntilItsLastEndIsOld) {
  end(1, Outcome::kFailed);
  cluster.pass(seconds(90));
  EXPECT_TRUE(forgotten().empty());
  end(0);
  end(2);
  cluster.pass(seconds(90));
  EXPECT_TRUE(forgotten().empty()) << "the first end is 180 s ago";
  cluster.pass(seconds(10));
  EXPECT_EQ(forgotten(), (std::vector{element(1), element(0), element(2)}));
}

TEST_F(PassPurgeOfArray, NotWhileAnotherNamesOneOfItsElements) {
  for (const std::uint64_t index : {0, 1, 2}) end(index);
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kAfterOk, element(1), {}}};
  spec.hold = true;
  const JobId after = cluster.submit(spec);
  cluster.pass(seconds(100));
  EXPECT_TRUE(forgotten().empty());
  cluster.tell(JobCancelRequested{after});
  EXPECT_EQ(forgotten(), (std::vector{element(0), element(1), element(2)}));
}

TEST_F(PassPurgeOfArray, WithTooManyJobsTheFirstThatEndedGoes) {
  ClusterSettings settings = cluster.state.settings;
  settings.ended_jobs_max = 2;
  cluster.declare(settings);
  end(2);
  cluster.pass(seconds(1));
  end(0);
  end(1);
  EXPECT_EQ(forgotten(), std::vector{element(2)});
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
