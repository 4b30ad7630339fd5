#include <gtest/gtest.h>

#include "model/new_cluster.h"
#include "policies/standard.h"
#include "sim/live/live_trace.h"

namespace dove::sim {
namespace {

std::shared_ptr<const Inventory> machine(const std::string& model, std::int32_t gpus) {
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < 4; ++core) inventory->numa[0].cores.insert(core);
  for (std::int32_t i = 0; i < gpus; ++i) {
    inventory->devices.push_back({"gpu", "nvidia", model, "", std::int64_t{80} << 30, 0});
  }
  inventory->memory_bytes = std::int64_t{8} << 30;
  return inventory;
}

// Ids are those of the log; instants are seconds after its first one.
class LiveLogTest : public testing::Test {
 protected:
  static constexpr Instant kBegin{1'700'000'000'000'000};

  void node(const std::string& name, const std::string& model, std::int32_t gpus) {
    LoggedNode made;
    made.declared.name = name;
    made.inventory = machine(model, gpus);
    work_.nodes.push_back(made);
  }

  // A job of ann's that asks for one core and that number of GPUs.
  LoggedJob& job(std::uint64_t id, std::int64_t at_s, std::int64_t run_s, std::int32_t gpus = 1) {
    LoggedJob& made = work_.jobs[JobId(id)];
    made.spec.user = "ann";
    made.spec.groups.resize(1);
    made.spec.groups[0].per_task.cores = 1;
    made.spec.groups[0].per_task.gpus = gpus;
    made.submitted_at = made.eligible_at = kBegin + seconds(at_s);
    made.runs.push_back({JobId(id), 0, seconds(run_s), 0});
    return made;
  }

  LiveLog replay(const char* scheduling = "learned") {
    const auto found = replay_live_log(
        work_, {policies::standard_policies(), *with_scheduling(ClusterSettings{}, scheduling)});
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? *found : LiveLog{};
  }

  std::vector<std::int64_t> waits_s(const char* scheduling = "learned") {
    std::vector<std::int64_t> found;
    for (const Span it : replay(scheduling).result.waited) found.push_back(it.us / 1'000'000);
    return found;
  }

  LoggedWork work_;
};

using Waits = std::vector<std::int64_t>;

TEST_F(LiveLogTest, JobsGetTheModelTheCoresAndTheMemoryThatTheyAskedFor) {
  node("big", "H200", 2);
  node("old", "A100", 2);
  for (const std::uint64_t id : {1, 2, 3}) {
    job(id, 0, 100).spec.groups[0].per_task.gpu_model = "h200";
  }
  job(4, 0, 50, 0).spec.groups[0].per_task.cores = 4;
  for (const std::uint64_t id : {5, 6}) {
    job(id, 0, 50, 0).spec.groups[0].per_task.memory_bytes = std::int64_t{8} << 30;
  }
  const LiveLog found = replay("plain");
  EXPECT_EQ(found.not_run, 0);
  // There are two H200, one node has all cores for the fourth, and the other's memory is for one.
  EXPECT_EQ(found.result.waited, (std::vector<Span>{{}, {}, seconds(100), {}, {}, seconds(50)}));
}

TEST_F(LiveLogTest, LimitsAndPrioritiesOfItsQueuesHold) {
  node("n1", "H200", 4);
  Queue small;
  small.name = "small";
  small.limits.gpus_milli = 1000;
  work_.objects.push_back(small);
  job(1, 0, 30).spec.queue = "small";
  job(2, 1, 10).spec.queue = "small";
  job(3, 2, 10).spec.queue = "small";
  work_.jobs[JobId(3)].spec.priority = 5;
  EXPECT_EQ(waits_s(), (Waits{0, 39, 28}));
  work_.jobs[JobId(3)].spec.priority = 0;
  EXPECT_EQ(waits_s("plain"), (Waits{0, 29, 38}));
}

TEST_F(LiveLogTest, PreemptibleJobsAreStoppedAndGoOnOrBeginAnew) {
  node("n1", "H200", 1);
  job(1, 0, 1000).spec.preempt = Preempt::kCheckpoint;
  job(2, 600, 50).spec.priority = 10;
  LiveLog found = replay();
  EXPECT_EQ(found.result.stopped, 1);
  EXPECT_EQ(found.result.waited[1], Span{});
  EXPECT_EQ(found.result.took[0], seconds(1050));
  work_.jobs[JobId(1)].spec.preempt = Preempt::kRestart;
  found = replay();
  EXPECT_EQ(found.result.took[0], seconds(1650)) << "what it had done is lost";
}

TEST_F(LiveLogTest, DependenciesNameTheJobsOfTheReplay) {
  node("n1", "H200", 4);
  job(7, 0, 20).runs[0].exit_code = 1;
  job(9, 1, 5).spec.dependencies = {{DependencyKind::kAfterNotOk, JobId(7), {}}};
  // 8 is not there; in the log this one was eligible after 12 s.
  LoggedJob& other = job(10, 2, 5);
  other.spec.dependencies = {{DependencyKind::kAfterOk, JobId(8), {}}};
  other.eligible_at = kBegin + seconds(12);
  EXPECT_EQ(waits_s(), (Waits{0, 19, 10}));
}

TEST_F(LiveLogTest, AnArrayHasItsElementsThatRanAndItsLimit) {
  node("n1", "H200", 4);
  LoggedJob& array = job(1, 0, 10);
  array.spec.array = {{0, 1, 2, 3}, 1};
  array.runs = {{JobId(2), 1, seconds(10), 0}, {JobId(4), 3, seconds(20), 0}};
  LoggedJob& next = job(5, 1, 5);
  next.spec.array.indices = {1, 3};
  next.spec.dependencies = {{DependencyKind::kAfterCorr, JobId(1), {}}};
  next.runs = {{JobId(5), 1, seconds(5), 0}, {JobId(6), 3, seconds(5), 0}};
  EXPECT_EQ(waits_s(), (Waits{0, 10, 9, 29}));
}

TEST_F(LiveLogTest, WhatFitsNowhereIsLeftOutAndSaysWhy) {
  node("n1", "H200", 1);
  job(1, 0, 10);
  job(2, 0, 10, 2);
  job(3, 0, 10).spec.nodes_wanted = {"gone"};
  const LiveLog found = replay();
  EXPECT_EQ(found.trace.jobs.size(), 1u);
  EXPECT_EQ(found.not_run, 2);
  EXPECT_NE(found.why.find("job 2: a task needs 2 GPUs"), std::string::npos) << found.why;
}

// It would never be placed otherwise: its licences are the cluster's.
TEST_F(LiveLogTest, LicencesAreThoseOfTheLog) {
  node("n1", "H200", 2);
  work_.countables = {{"licence", 1}};
  for (const std::uint64_t id : {1, 2}) job(id, 0, 10).spec.cluster_requests = {{"licence", 1}};
  EXPECT_EQ(waits_s(), (Waits{0, 10}));
}

TEST_F(LiveLogTest, ALogOfWhichNothingRunsIsAnError) {
  node("n1", "H200", 1);
  job(1, 0, 10, 4);
  const auto found =
      replay_live_log(work_, {policies::standard_policies(), new_cluster_settings()});
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("no job of the log can run on its nodes"),
            std::string::npos);
}

}  // namespace
}  // namespace dove::sim
