// The pass kPreempt where an executor puts jobs of its own back for ours.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/cycle/decide_fixture.h"
#include "core/place/pools_fixture.h"
#include "core/preempt/foreign_jobs.h"
#include "core/preempt/running_jobs.h"
#include "core/preempt/victim_explain.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// A node of four GPUs that a Slurm shares. Its account "lab" counts in the queue "research", and
// its partition "batch" makes room.
class PassPreemptForeign : public testing::Test {
 protected:
  PassPreemptForeign() {
    cluster.declare(queue_of("research"));
    executor.preempts = {"batch"};
    declare();
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }
  ~PassPreemptForeign() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  void declare() { cluster.declare(executor); }
  static ForeignAllocation allocation(const char* id, std::vector<std::int32_t> devices) {
    ForeignAllocation one;
    one.id = id;
    for (const std::int32_t device : devices) one.cores.insert(device);
    one.devices = std::move(devices);
    one.memory_bytes = std::int64_t{10} << 20;
    one.user = "ada";
    one.account = "lab";
    one.partition = "batch";
    one.may_requeue = true;
    return one;
  }
  void begin(const ForeignAllocation& one, std::uint32_t node = 1) {
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(node), one});
  }
  void begin(const char* id, std::vector<std::int32_t> devices) {
    begin(allocation(id, std::move(devices)));
  }
  void end(const char* id) { cluster.tell(ForeignAllocationEnded{"slurm", NodeId(1), id}); }
  // Slurm's jobs that are to be put back, once it was decided.
  std::vector<std::string> put_back() {
    decide_for<Stop>(cluster);
    return leaving();
  }
  std::vector<std::string> leaving() const {
    std::vector<std::string> ids;
    for (const auto& [id, promise] : cluster.state.promises) {
      for (const ForeignJobPtr& one : put_back_for(cluster.state, id)) ids.push_back(one->id);
    }
    return ids;
  }
  JobId submit_high(std::int32_t gpus = 2) { return cluster.submit({.gpus = gpus, .priority = 5}); }

  TestCluster cluster{2, {.gpus = 4, .memory_bytes = std::int64_t{1} << 30}};
  Executor executor{"slurm", "", {"n1"}, true, {{"lab", "research"}}};
};

TEST_F(PassPreemptForeign, AJobOfHigherPriorityHasOnePutBackAndTakesItsPlace) {
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1, 2, 3});
  const JobId high = submit_high();
  EXPECT_EQ(put_back(), std::vector<std::string>{"7"});
  EXPECT_EQ(cluster.state.promises.at(high).placements.at(0).devices.size(), 2u);
  cluster.pass(seconds(30));
  EXPECT_EQ(put_back(), std::vector<std::string>{"7"}) << "until it is gone";
  EXPECT_TRUE(launched(cluster).empty());
  end("7");
  EXPECT_EQ(launched(cluster), std::vector<JobId>{high});
  EXPECT_TRUE(leaving().empty());
}

TEST_F(PassPreemptForeign, ThePromiseStandsWhenSlurmTakesLonger) {
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1, 2, 3});
  const JobId high = submit_high();
  put_back();
  cluster.pass(seconds(200));
  EXPECT_EQ(put_back(), std::vector<std::string>{"7"});
  EXPECT_GT(cluster.state.promises.at(high).start_at, cluster.state.now);
}

// Its user's signal was sent, and it has minutes to save its work.
TEST_F(PassPreemptForeign, OneThatIsBeingPutBackIsNotExchangedForAYoungerOne) {
  cluster.submit_and_start({.gpus = 4}, {2});
  cluster.pass(seconds(1));
  ForeignAllocation first = allocation("7", {0, 1});
  first.started_at = cluster.state.now;
  begin(first);
  ForeignAllocation lasting = allocation("8", {2, 3});
  lasting.may_requeue = false;
  begin(lasting);
  submit_high();
  EXPECT_EQ(put_back(), std::vector<std::string>{"7"});
  cluster.pass(seconds(200));
  end("8");
  ForeignAllocation younger = allocation("9", {2, 3});
  younger.started_at = Instant{cluster.state.now.us - 1'000'000};
  begin(younger);
  EXPECT_EQ(put_back(), std::vector<std::string>{"7"});
}

TEST_F(PassPreemptForeign, NotWithoutTheSetting) {
  executor.preempts.clear();
  declare();
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1, 2, 3});
  submit_high();
  EXPECT_TRUE(put_back().empty());
  executor.preempts = {"other"};
  declare();
  EXPECT_TRUE(put_back().empty()) << "another partition's";
  executor.preempts = {"batch"};
  declare();
  EXPECT_EQ(put_back().size(), 1u);
  executor.preempts.clear();
  declare();
  EXPECT_TRUE(put_back().empty()) << "taken back";
  EXPECT_TRUE(cluster.state.promises.empty());
}

TEST_F(PassPreemptForeign, OnlyOneThatCanRunAgainAndHasAPlaceOnTheScale) {
  cluster.submit_and_start({.gpus = 4}, {2});
  ForeignAllocation one = allocation("7", {0, 1, 2, 3});
  submit_high();
  one.may_requeue = false;
  begin(one);
  EXPECT_TRUE(put_back().empty());
  one.may_requeue = true;
  one.account = "guests";
  begin(one);
  EXPECT_TRUE(put_back().empty()) << "its account stands for no queue";
  one.account = "lab";
  one.devices.clear();
  begin(one);
  begin("8", {0, 1, 2, 3});
  EXPECT_EQ(put_back(), std::vector<std::string>{"8"}) << "nothing could keep its cores free";
}

TEST_F(PassPreemptForeign, NeverForItsCoresAloneAndNoReasonPromisesThat) {
  cluster.submit_and_start({.gpus = 4}, {2});
  ForeignAllocation one = allocation("7", {3});
  one.cores = cluster.node(1).cores_free;
  begin(one);
  const JobId high = submit_high(1);
  EXPECT_TRUE(put_back().empty());
  EXPECT_TRUE(cluster.state.promises.empty());
  const auto reason = explain_victims(cluster.state, plain_policies(), running_jobs(cluster.state),
                                      ranked_nodes(cluster.state), cluster.job(high));
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->total, 1);
  EXPECT_EQ(reason->count, 0) << "it would never be done";
}

TEST_F(PassPreemptForeign, OneThatIsElsewhereTooIsTakenAsAWhole) {
  executor.nodes = {"n[1-2]"};
  declare();
  ForeignAllocation there = allocation("7", {0, 1, 2, 3});
  begin(there, 1);
  there.may_requeue = false;
  begin(there, 2);
  submit_high();
  EXPECT_TRUE(put_back().empty());
  there.may_requeue = true;
  begin(there, 2);
  EXPECT_EQ(put_back(), std::vector<std::string>{"7"}) << "named once";
}

TEST_F(PassPreemptForeign, NeverForAJobThatIsNotAboveIt) {
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1, 2, 3});
  const JobId equal = cluster.submit({.gpus = 2});
  EXPECT_TRUE(put_back().empty());
  cluster.decided(EndJob{equal, Outcome::kCancelled});
  Queue research = queue_of("research");
  research.priority = 5;
  cluster.declare(research);
  submit_high();
  EXPECT_TRUE(put_back().empty()) << "the queue of its account is as high";
  research.priority = 4;
  cluster.declare(research);
  EXPECT_EQ(put_back().size(), 1u);
  research.priority = 6;
  cluster.declare(research);
  EXPECT_TRUE(put_back().empty()) << "it has risen meanwhile";
}

TEST_F(PassPreemptForeign, OursAndTheirsAreTakenByOneOrder) {
  begin("7", {0, 1});
  Queue research = queue_of("research");
  research.priority = 2;
  cluster.declare(research);
  const JobId low = cluster.submit({.gpus = 2, .preempt = Preempt::kRestart});
  cluster.launch(low);
  cluster.tell(PlaceholderMoved{"slurm", low, 1, NodeId(1), PlaceholderStage::kConfirmed, "1300",
                                "", CoreSet{}});
  cluster.start(low);
  cluster.submit_and_start({.gpus = 4}, {2});
  submit_high();
  const auto stopped = decide_for<Stop>(cluster);
  ASSERT_EQ(stopped.size(), 1u) << "the lowest level";
  EXPECT_EQ(stopped[0].job, low);
  EXPECT_TRUE(leaving().empty());
}

TEST_F(PassPreemptForeign, TwoJobsShareWhatOneLeaves) {
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1, 2, 3});
  const JobId first = submit_high();
  const JobId second = cluster.submit({.gpus = 2, .priority = 4});
  put_back();
  const auto devices = [&](JobId id) {
    std::set<std::int32_t> all;
    for (const DeviceGrant& grant : cluster.state.promises.at(id).placements[0].devices) {
      all.insert(grant.device);
    }
    return all;
  };
  ASSERT_EQ(cluster.state.promises.size(), 2u);
  std::set<std::int32_t> both = devices(first);
  both.merge(devices(second));
  EXPECT_EQ(both.size(), 4u) << "no device is promised twice";
  end("7");
  EXPECT_EQ(launched(cluster).size(), 2u);
}

// It is in the executor's queue again, where it waits for what is free: nothing of ours is stopped
// for it, however often it comes back.
TEST_F(PassPreemptForeign, OneThatWasPutBackTakesNothingBack) {
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1});
  begin("8", {2, 3});
  const JobId high = submit_high();
  const std::vector<std::string> gone = put_back();
  ASSERT_EQ(gone.size(), 1u);
  end(gone[0].c_str());
  EXPECT_EQ(launched(cluster), std::vector<JobId>{high});
  cluster.submit({.gpus = 1});
  EXPECT_TRUE(decide_for<Stop>(cluster).empty());
  EXPECT_TRUE(leaving().empty());
  EXPECT_EQ(cluster.job(high).phase, JobPhase::kActive);
}

TEST_F(PassPreemptForeign, AnotherOfSlurmsJobsInThePlaceIsPutBackTooOrEndsThePromise) {
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1, 2, 3});
  const JobId high = submit_high(4);
  put_back();
  end("7");
  begin("8", {0});  // before anything could keep it
  EXPECT_EQ(put_back(), std::vector<std::string>{"8"});
  ForeignAllocation lasting = allocation("9", {1});
  lasting.may_requeue = false;
  begin(lasting);
  EXPECT_TRUE(put_back().empty());
  EXPECT_FALSE(cluster.state.promises.contains(high));
}

TEST_F(PassPreemptForeign, AnotherInThePlaceIsSparedWhereItsQueueIsGuaranteedThat) {
  Queue research = queue_of("research");
  research.guaranteed.gpus_milli = 2000;
  cluster.declare(research);
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1});
  begin("8", {2, 3});
  const JobId high = submit_high();
  const std::vector<std::string> gone = put_back();
  ASSERT_EQ(gone.size(), 1u) << "its queue keeps two GPUs";
  const bool first = gone[0] == "7";
  end("7");
  end("8");
  ForeignAllocation guest = allocation("9", first ? std::vector{2, 3} : std::vector{0, 1});
  guest.account = "guests";
  begin(guest);
  begin("10", first ? std::vector{0, 1} : std::vector{2, 3});
  EXPECT_TRUE(put_back().empty()) << "its queue has no others";
  EXPECT_FALSE(cluster.state.promises.contains(high));
}

TEST_F(PassPreemptForeign, WhatAnExecutorRunsTakesNothing) {
  executor.runs_jobs = true;
  declare();
  cluster.submit_and_start({.gpus = 4}, {2});
  begin("7", {0, 1, 2, 3});
  JobSpec spec = spec_of({.gpus = 2, .priority = 5});
  spec.executor = "slurm";
  cluster.submit(spec);
  EXPECT_TRUE(put_back().empty());
}

}  // namespace
}  // namespace dove::core
