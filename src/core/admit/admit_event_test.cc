#include <gtest/gtest.h>

#include "core/admit/admit.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class AdmitEvent : public testing::Test {
 protected:
  bool may(Event event) { return admit(cluster.state, plain_policies(), event).ok(); }

  TestCluster cluster{1};
};

TEST_F(AdmitEvent, AnEndedJobIsNotCancelled) {
  const JobId job = cluster.submit_and_start();
  EXPECT_TRUE(may(JobCancelRequested{job}));
  cluster.end(job);
  EXPECT_FALSE(may(JobCancelRequested{job}));
  EXPECT_FALSE(may(JobCancelRequested{JobId(99)}));
}

TEST_F(AdmitEvent, AnEndedJobRunsAgainOnlyWhereItCouldBeSubmitted) {
  cluster.declare(queue_of("team"));
  const JobId job = cluster.submit_and_start({.queue = "team"});
  EXPECT_TRUE(may(JobRequeueRequested{job})) << "it is there already";
  cluster.end(job, Outcome::kFailed);
  EXPECT_TRUE(may(JobRequeueRequested{job}));
  const auto refusal = [&] {
    const auto answer = admit(cluster.state, plain_policies(), JobRequeueRequested{job});
    return answer.ok() ? "" : answer.error().code;
  };
  UserLimit limit;
  limit.name = "ann";
  limit.limits.jobs_waiting = 0;
  cluster.declare(limit);
  EXPECT_EQ(refusal(), "too_many_waiting");
  Queue closed = queue_of("team");
  closed.open = false;
  cluster.declare(closed);
  EXPECT_EQ(refusal(), "queue_closed");
  cluster.tell(ObjectDeleted{"queue", "team"});
  EXPECT_EQ(refusal(), "queue_unknown");
}

TEST_F(AdmitEvent, AJobThatNeverRanIsRefusedOnceWhatItWaitedForIsForgotten) {
  const JobId first = cluster.submit_and_start();
  cluster.end(first);
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kAfterOk, first, {}}};
  const JobId next = cluster.submit(spec);
  cluster.decided(EndJob{next, Outcome::kCancelled, 0});
  EXPECT_TRUE(may(JobRequeueRequested{next}));
  cluster.decided(ForgetJob{first});
  EXPECT_FALSE(may(JobRequeueRequested{next}));
}

TEST_F(AdmitEvent, AnElementThatRunsAgainCountsAsOneJob) {
  ClusterSettings settings;
  settings.jobs_max = 3;
  cluster.declare(settings);
  JobSpec spec = spec_of({});
  spec.array.indices = {0, 1, 2};
  const JobId array = cluster.submit(spec);
  cluster.decided(EndJob{array, Outcome::kCancelled, 0});
  EXPECT_TRUE(may(JobRequeueRequested{array}));
  cluster.submit();
  EXPECT_FALSE(may(JobRequeueRequested{array}));
}

TEST_F(AdmitEvent, AQueueNeedsAParentThatExists) {
  EXPECT_FALSE(may(ObjectApplied{queue_of("team", "none such")}));
  cluster.declare(queue_of("org"));
  EXPECT_TRUE(may(ObjectApplied{queue_of("team", "org")}));
}

TEST_F(AdmitEvent, QueuesFormNoCircle) {
  cluster.declare(queue_of("org"));
  cluster.declare(queue_of("team", "org"));
  EXPECT_FALSE(may(ObjectApplied{queue_of("org", "team")}));
}

TEST_F(AdmitEvent, AnUnknownOrderIsRefused) {
  Queue queue = queue_of("team");
  queue.order = "oldest";
  EXPECT_TRUE(may(ObjectApplied{queue}));
  queue.order = "none such";
  EXPECT_FALSE(may(ObjectApplied{queue}));
}

TEST_F(AdmitEvent, OnlyASilentNodeIsDeclaredOff) {
  EXPECT_FALSE(may(NodeDeclaredOff{NodeId(1), "no power"}));
  EXPECT_FALSE(may(NodeDeclaredOff{NodeId(9), "no power"}));
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_TRUE(may(NodeDeclaredOff{NodeId(1), "no power"}));
}

TEST_F(AdmitEvent, AnExpelledNodeLeavesByItselfOrWhenItIsOff) {
  NodeActionRequested expel{NodeId(1), NodeAction::kExpel, false, {}, "stolen"};
  EXPECT_FALSE(may(expel)) << "controllers of the former version could not read it";
  cluster.tell(LevelRaised{kNewestLevel});
  expel.now = true;
  EXPECT_FALSE(may(expel));
  expel.now = false;
  EXPECT_TRUE(may(expel));
  cluster.submit_and_start();
  cluster.tell(expel);
  EXPECT_FALSE(may(expel));
  EXPECT_FALSE(may(NodeActionRequested{NodeId(1), NodeAction::kResume, false, {}, ""}));
  // Its silence was made, and is no sign that its machine is gone.
  const auto gone = admit(cluster.state, plain_policies(), NodeRemoved{NodeId(1)});
  EXPECT_EQ(gone.error().code, "node_expelled");
  EXPECT_NE(gone.error().message.find("306 s"), std::string::npos) << gone.error().message;
  EXPECT_TRUE(may(NodeDeclaredOff{NodeId(1), "unplugged"}));
}

TEST_F(AdmitEvent, AnUnknownUserIsToldWhatToDo) {
  NodeRegistered stranger;
  stranger.name = "n1";
  stranger.boot_id = "boot";
  stranger.machine_id = "one";
  stranger.inventory = inventory_of({});
  EXPECT_TRUE(may(stranger));
  cluster.tell(stranger);
  cluster.submit_and_start();
  stranger.machine_id = "another";
  const auto elsewhere = admit(cluster.state, plain_policies(), stranger);
  EXPECT_EQ(elsewhere.error().code, "node_exists_elsewhere");
  EXPECT_NE(elsewhere.error().message.find("dove join-token create"), std::string::npos);
  cluster.tell(NodeDisconnected{NodeId(1), true});
  const auto waits = admit(cluster.state, plain_policies(), stranger);
  EXPECT_EQ(waits.error().code, "node_not_proven");
  EXPECT_NE(waits.error().message.find("306 s"), std::string::npos) << waits.error().message;
  EXPECT_NE(waits.error().message.find("dove node lost n1 --is-off"), std::string::npos);
}

// Else whoever declares a user of that name next would be the user of these jobs.
TEST_F(AdmitEvent, AUserWithJobsIsNotDeleted) {
  const JobId job = cluster.submit_and_start();
  const std::string user = cluster.state.find_job(job)->spec->user;
  UserDeclaration declared;
  declared.name = user;
  cluster.declare(declared);
  EXPECT_FALSE(may(ObjectDeleted{"user", user}));
  cluster.end(job);
  EXPECT_TRUE(may(ObjectDeleted{"user", user}));
}

}  // namespace
}  // namespace dove::core
