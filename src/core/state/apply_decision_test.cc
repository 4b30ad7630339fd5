#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

class ApplyDecision : public testing::Test {
 protected:
  ~ApplyDecision() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }
  const Attempt& attempt(JobId id) { return cluster.job(id).attempts.back(); }

  TestCluster cluster{1, {.gpus = 2}};
};

TEST_F(ApplyDecision, ALaunchTakesWhatItNamesAndTheJobsPromise) {
  const JobId job = cluster.submit({.cores = 3, .gpus = 1});
  const Placement places = first_free(cluster.node(1), *cluster.job(job).spec);
  cluster.decided(Promise{job, cluster.state.now + seconds(5), {places}, false});
  cluster.launch(job);
  EXPECT_TRUE(cluster.state.promises.empty());
  EXPECT_EQ(cluster.node(1).cores_free.size(), 5u);
  EXPECT_EQ(cluster.node(1).jobs, std::vector<JobId>{job});
  EXPECT_EQ(cluster.job(job).phase, JobPhase::kActive);
}

TEST_F(ApplyDecision, AStopThatTimeDecidedKeepsTheReasonThatCameFirst) {
  const JobId job = cluster.submit_and_start();
  cluster.decided(Stop{job, 1, StopReason::kTimeLimit});
  cluster.decided(Stop{job, 1, StopReason::kCancelled});
  EXPECT_EQ(attempt(job).stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(attempt(job).stage, Stage::kStopping);
}

TEST_F(ApplyDecision, APreemptionIsCounted) {
  const JobId job = cluster.submit_and_start({.preempt = Preempt::kRestart});
  cluster.decided(Stop{job, 1, StopReason::kPreempted, Purpose::kStarvation, JobId(9)});
  EXPECT_EQ(cluster.job(job).preemptions, 1);
  EXPECT_EQ(cluster.job(job).preempted_at, cluster.state.now);
}

TEST_F(ApplyDecision, ARequeuedJobHasRunForAsLongAsItsAttempt) {
  const JobId job = cluster.submit_and_start();
  cluster.pass(seconds(30));
  cluster.leave(job, 1);
  cluster.decided(Requeue{job, StopReason::kTaskFailed, true, false});
  EXPECT_EQ(cluster.job(job).ran_before, seconds(30));
  EXPECT_EQ(cluster.job(job).retries_used, 1);
  EXPECT_EQ(cluster.state.usage.jobs_waiting, 1);
}

TEST_F(ApplyDecision, ALostNodeGivesBackWhatItHeld) {
  const JobId job = cluster.submit_and_start({.gpus = 2});
  cluster.decided(DeclareNodeLost{NodeId(1)});
  EXPECT_EQ(cluster.node(1).contact, Contact::kLost);
  EXPECT_EQ(cluster.state.usage.gpus_milli, 0);
  EXPECT_EQ(attempt(job).stop_reason, StopReason::kNodeLost);
}

TEST_F(ApplyDecision, AForgottenJobIsGone) {
  const JobId job = cluster.submit_and_start();
  cluster.end(job);
  cluster.decided(ForgetJob{job});
  EXPECT_EQ(cluster.state.find_job(job), nullptr);
}

}  // namespace
}  // namespace dove::core
