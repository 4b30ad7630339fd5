// Every field of a noun that is stored has to be in its fields() or its list: this counts them.
//
// When one of these fails, a field came to the model: follow docs/recipes/api_field.md (a field
// that the codec leaves out would be lost at the next restart), then raise the number here.
#include "codec/field_count.h"

#include <gtest/gtest.h>

#include "model/event.h"
#include "model/exec_fields.h"
#include "model/job_fields.h"

namespace dove::codec {
namespace {

// An archive that counts the lines of a list.
struct Counting {
  template <class T>
  using Of = const T;
  std::size_t lines = 0;
  template <class... All>
  void operator()(const All&... /*line*/) {
    ++lines;
  }
  template <class... All>
  void optional(const All&... /*line*/) {
    ++lines;
  }
};

TEST(FieldCount, OfWhatIsListed) {
  Counting job;
  job_fields(job, JobSpec());
  EXPECT_EQ(job.lines, field_count<JobSpec>() - 1 + field_count<JobBrief>());
  Counting brief;
  brief_fields(brief, JobBrief());
  EXPECT_EQ(brief.lines, field_count<JobBrief>());
  Counting exec;
  exec_fields(exec, ExecSpec());
  EXPECT_EQ(exec.lines, field_count<ExecSpec>() - 1 + field_count<OutputSpec>());  // is flat
  Counting container;
  container_fields(container, ContainerSpec());
  EXPECT_EQ(container.lines, field_count<ContainerSpec>());
  Counting app;
  app_fields(app, AppSpec());
  EXPECT_EQ(app.lines, field_count<AppSpec>());
}

TEST(FieldCount, OfTheNounsOfTheModel) {
  EXPECT_EQ(field_count<Countable>(), 2u);
  EXPECT_EQ(field_count<Request>(), 9u);
  EXPECT_EQ(field_count<TaskGroup>(), 8u);
  EXPECT_EQ(field_count<Dependency>(), 3u);
  EXPECT_EQ(field_count<ArraySpec>(), 2u);
  EXPECT_EQ(field_count<TaskExit>(), 4u);
  EXPECT_EQ(field_count<Device>(), 6u);
  EXPECT_EQ(field_count<Link>(), 3u);
  EXPECT_EQ(field_count<NumaNode>(), 2u);
  EXPECT_EQ(field_count<Finding>(), 5u);
  EXPECT_EQ(field_count<NodeRequest>(), 5u);
  EXPECT_EQ(field_count<Inventory>(), 8u);
  EXPECT_EQ(field_count<SlicePlace>(), 3u);
  EXPECT_EQ(field_count<DeviceGrant>(), 3u);
  EXPECT_EQ(field_count<TaskGrant>(), 5u);
  EXPECT_EQ(field_count<Placement>(), 7u);
  EXPECT_EQ(field_count<ForeignAllocation>(), 12u);
  EXPECT_EQ(field_count<ForeignUse>(), 7u);
}

TEST(FieldCount, OfDeclaredObjects) {
  EXPECT_EQ(field_count<Limits>(), 9u);
  EXPECT_EQ(field_count<Pool>(), 14u);
  EXPECT_EQ(field_count<Queue>(), 12u);
  EXPECT_EQ(field_count<QueueWeights>(), 3u);
  EXPECT_EQ(field_count<NodeDeclaration>(), 9u);
  EXPECT_EQ(field_count<UserLimit>(), 3u);
  EXPECT_EQ(field_count<UserDeclaration>(), 13u);
  EXPECT_EQ(field_count<ClusterSettings>(), 30u);
  EXPECT_EQ(field_count<MultifactorWeights>(), 6u);
  EXPECT_EQ(field_count<Quota>(), 5u);
  EXPECT_EQ(field_count<TopologyUnit>(), 2u);
  EXPECT_EQ(field_count<Project>(), 5u);
  EXPECT_EQ(field_count<Reservation>(), 9u);
  EXPECT_EQ(field_count<Domain>(), 4u);
  EXPECT_EQ(field_count<Group>(), 5u);
  EXPECT_EQ(field_count<Binding>(), 7u);
  EXPECT_EQ(field_count<Executor>(), 11u);
  EXPECT_EQ(field_count<IdleRule>(), 16u);
  EXPECT_EQ(field_count<BootConfig>(), 13u);
  EXPECT_EQ(field_count<NoticeTarget>(), 3u);
  EXPECT_EQ(field_count<JobLimits>(), 5u);
  EXPECT_EQ(field_count<Lendable>(), 4u);
  EXPECT_EQ(field_count<App>(), 6u);
  EXPECT_EQ(field_count<Settings>(), 6u);
  EXPECT_EQ(field_count<Secret>(), 6u);
}

TEST(FieldCount, OfEvents) {
  EXPECT_EQ(field_count<Cause>(), 8u);
  EXPECT_EQ(field_count<ControllerStarted>(), 3u);
  EXPECT_EQ(field_count<TimeReached>(), 0u);
  EXPECT_EQ(field_count<JobSubmitted>(), 1u);
  EXPECT_EQ(field_count<JobCancelRequested>(), 1u);
  EXPECT_EQ(field_count<JobHeld>(), 1u);
  EXPECT_EQ(field_count<JobReleased>(), 1u);
  EXPECT_EQ(field_count<JobRequeueRequested>(), 1u);
  EXPECT_EQ(field_count<JobPriorityChanged>(), 2u);
  EXPECT_EQ(field_count<NodeRegistered>(), 8u);
  EXPECT_EQ(field_count<NodeConnected>(), 4u);
  EXPECT_EQ(field_count<NodeDisconnected>(), 2u);
  EXPECT_EQ(field_count<NodeRemoved>(), 1u);
  EXPECT_EQ(field_count<PlacementPrepared>(), 3u);
  EXPECT_EQ(field_count<PlacementStarted>(), 4u);
  EXPECT_EQ(field_count<TaskEnded>(), 4u);
  EXPECT_EQ(field_count<PlacementEnded>(), 7u);
  EXPECT_EQ(field_count<LaunchFailed>(), 4u);
  EXPECT_EQ(field_count<UnknownTaskObserved>(), 3u);
  EXPECT_EQ(field_count<ObjectDeleted>(), 2u);
  EXPECT_EQ(field_count<JoinTokenIssued>(), 3u);
  EXPECT_EQ(field_count<BootArmed>(), 2u);
  EXPECT_EQ(field_count<BootTokenIssued>(), 4u);
  EXPECT_EQ(field_count<Key>(), 8u);
  EXPECT_EQ(field_count<KeyIssued>(), 2u);
  EXPECT_EQ(field_count<KeyRevoked>(), 1u);
  EXPECT_EQ(field_count<CallsRefused>(), 5u);
  EXPECT_EQ(field_count<CheckpointTaken>(), 2u);
  EXPECT_EQ(field_count<FindingReported>(), 2u);
  EXPECT_EQ(field_count<NodeActionRequested>(), 5u);
  EXPECT_EQ(field_count<NodeTested>(), 3u);
  EXPECT_EQ(field_count<RemedyEnded>(), 4u);
  EXPECT_EQ(field_count<PreflightFailed>(), 6u);
  EXPECT_EQ(field_count<ProgressReported>(), 8u);
  EXPECT_EQ(field_count<ExecStarted>(), 6u);
  EXPECT_EQ(field_count<HangObserved>(), 8u);
  EXPECT_EQ(field_count<HangEnded>(), 2u);
  EXPECT_EQ(field_count<NodeDeclaredOff>(), 2u);
  EXPECT_EQ(field_count<ForeignAllocationObserved>(), 3u);
  EXPECT_EQ(field_count<ForeignAllocationEnded>(), 3u);
  EXPECT_EQ(field_count<ForeignWatchResumed>(), 2u);
  EXPECT_EQ(field_count<ForeignUseFound>(), 5u);
  EXPECT_EQ(field_count<PlaceholderMoved>(), 8u);
  EXPECT_EQ(field_count<ExecutorContactChanged>(), 3u);
  EXPECT_EQ(field_count<ExecutorNodeObserved>(), 5u);
  EXPECT_EQ(field_count<IdleObserved>(), 6u);
  EXPECT_EQ(field_count<IdleEnded>(), 2u);
  EXPECT_EQ(field_count<JobKept>(), 2u);
  EXPECT_EQ(field_count<JobShared>(), 2u);
  EXPECT_EQ(field_count<ClusterRestored>(), 2u);
  EXPECT_EQ(field_count<ClockLeapt>(), 2u);
}

TEST(FieldCount, OfDecisions) {
  EXPECT_EQ(field_count<Launch>(), 3u);
  EXPECT_EQ(field_count<Start>(), 2u);
  EXPECT_EQ(field_count<Stop>(), 5u);
  EXPECT_EQ(field_count<DeclareNodeLost>(), 1u);
  EXPECT_EQ(field_count<Requeue>(), 5u);
  EXPECT_EQ(field_count<EndJob>(), 3u);
  EXPECT_EQ(field_count<ForgetJob>(), 2u);
  EXPECT_EQ(field_count<Promise>(), 4u);
  EXPECT_EQ(field_count<Withdraw>(), 1u);
  EXPECT_EQ(field_count<MoveNode>(), 5u);
}

}  // namespace
}  // namespace dove::codec
