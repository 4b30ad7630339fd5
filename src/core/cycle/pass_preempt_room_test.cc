// The pass kPreempt for a job that waits in an executor without a gate: ours make room for it, for
// a time, and the executor starts it there by itself.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/cycle/decide_fixture.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/placeholders.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// A node of four GPUs that a Slurm shares. A job of ours has all of them; the queue "urgent", which
// Slurm's account "serving" stands for, is above its own.
class PassPreemptRoom : public testing::Test {
 protected:
  PassPreemptRoom() {
    Queue urgent = queue_of("urgent");
    urgent.priority = 5;
    cluster.declare(urgent);
    executor.yields_to = {"inference"};
    cluster.declare(executor);
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
    ours = cluster.submit_and_start({.gpus = 4, .preempt = Preempt::kRestart});
  }
  ~PassPreemptRoom() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  JobId ask_room(std::int32_t gpus = 2, const char* queue = "urgent") {
    JobSpec spec = spec_of({.gpus = gpus, .queue = queue});
    spec.executor = "slurm";
    spec.foreign_job = "77";
    spec.requeue = true;
    return cluster.submit(spec);
  }
  // Those that are stopped for it, once it was decided.
  std::vector<JobId> stopped_for(JobId beneficiary) {
    std::vector<JobId> ids;
    for (const Stop& stop : decide_for<Stop>(cluster)) {
      if (stop.beneficiary == beneficiary) ids.push_back(stop.job);
    }
    return ids;
  }
  // Ours leaves, and the room is there.
  JobId make_room() {
    const JobId room = ask_room();
    EXPECT_EQ(stopped_for(room), std::vector<JobId>{ours});
    cluster.leave(ours);
    EXPECT_EQ(launched(cluster), std::vector<JobId>{room});
    return room;
  }
  void refuse(JobId room) {
    const auto number = cluster.job(room).attempts.back().number;
    cluster.tell(PlaceholderMoved{"slurm", room, number, NodeId(1), PlaceholderStage::kRefused, "",
                                  "Slurm has started its job 77"});
  }
  std::vector<std::int32_t> devices(JobId id) const {
    std::vector<std::int32_t> found;
    const Placement& placement = *cluster.job(id).attempts.back().placements.at(0).placement;
    for (const DeviceGrant& grant : placement.devices) found.push_back(grant.device);
    return found;
  }

  TestCluster cluster{1, {.gpus = 4, .memory_bytes = std::int64_t{1} << 30}};
  Executor executor{"slurm", "", {"n1"}, true, {{"serving", "urgent"}}};
  JobId ours;
};

TEST_F(PassPreemptRoom, OursOfALowerLevelMakesRoomAndNobodyElseGetsIt) {
  const JobId room = make_room();
  const JobId next = cluster.submit({.gpus = 3});
  EXPECT_TRUE(launched(cluster).empty()) << "two GPUs are left";
  EXPECT_EQ(cluster.job(next).phase, JobPhase::kWaiting);
  const PlaceholderKey key{room, 1, NodeId(1), "slurm"};
  ASSERT_TRUE(cluster.state.placeholders.contains(key)) << "the adapter hears of it";
  EXPECT_EQ(cluster.state.placeholders.at(key).stage, PlaceholderStage::kWanted);
}

TEST_F(PassPreemptRoom, OursOfTheSameLevelStays) {
  const JobId room = ask_room(2, "default");
  EXPECT_TRUE(stopped_for(room).empty());
  EXPECT_EQ(cluster.job(ours).attempts.back().stage, Stage::kRunning);
}

TEST_F(PassPreemptRoom, NobodyMakesRoomForWhatCouldNotStart) {
  const JobId room = ask_room(5);
  EXPECT_TRUE(stopped_for(room).empty()) << "no node has five";
  executor.lendable = {{{"n1"}, {0}, -1, -1}};
  cluster.declare(executor);
  const JobId two = ask_room(2);
  EXPECT_TRUE(stopped_for(two).empty()) << "one is lent";
}

TEST_F(PassPreemptRoom, ItIsTakenBackAfterATimeAndNotMadeAgainSoon) {
  const JobId room = make_room();
  const Span within = cluster.state.settings.effect_deadline;
  cluster.pass(Span{within.us - 1});
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
  cluster.pass(Span{1});
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u);
  EXPECT_EQ(stopped[0].job, room);
  EXPECT_EQ(stopped[0].reason, StopReason::kPlaceholder);
  cluster.leave(room);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{ours}) << "the devices are ours again";
  EXPECT_EQ(cluster.job(room).not_before, cluster.state.now + kRoomBackoff_min);
  cluster.start(ours);
  cluster.pass(Span{kRoomBackoff_min.us - 1});
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
  cluster.pass(Span{1});
  EXPECT_EQ(stopped_for(room), std::vector<JobId>{ours}) << "a second time";
}

TEST_F(PassPreemptRoom, EachTimeInVainDoublesTheWait) {
  Job job;
  for (const std::int64_t wait : {600, 1200, 2400}) {
    job.attempts.emplace_back().stop_reason = StopReason::kPlaceholder;
    EXPECT_EQ(room_backoff(job), seconds(wait));
  }
  for (int i = 0; i < 9; ++i) job.attempts.emplace_back(job.attempts.back());
  EXPECT_EQ(room_backoff(job), kRoomBackoff_max);
}

// Its executor says in one report that it has begun, and that its place is not taken up.
TEST_F(PassPreemptRoom, WhereItHasBegunIsNoConflictAndNobodysToGive) {
  const JobId room = make_room();
  ForeignAllocation begun;
  begun.id = "77";
  begun.devices = devices(room);
  begun.account = "serving";
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), begun});
  refuse(room);
  EXPECT_TRUE(cluster.node(1).findings.empty());
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u);
  EXPECT_EQ(stopped[0].job, room);
  cluster.leave(room);
  EXPECT_TRUE(launched(cluster).empty()) << "ours wants all four";
  for (const std::int32_t device : begun.devices) {
    EXPECT_EQ(cluster.node(1).device_free_milli[static_cast<std::size_t>(device)], 0);
  }
  const JobId small = cluster.submit({.gpus = 2});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{small}) << "the others are free";
}

TEST_F(PassPreemptRoom, OnlyWithoutAGateIsItRoom) {
  const JobId room = ask_room();
  EXPECT_TRUE(only_gets_room(cluster.state, *cluster.job(room).spec));
  EXPECT_FALSE(only_gets_room(cluster.state, *cluster.job(ours).spec));
  executor.yields_to.clear();
  cluster.declare(executor);
  EXPECT_TRUE(only_gets_room(cluster.state, *cluster.job(room).spec)) << "until it is withdrawn";
  executor.gate = true;
  cluster.declare(executor);
  EXPECT_FALSE(only_gets_room(cluster.state, *cluster.job(room).spec));
}

}  // namespace
}  // namespace dove::core
