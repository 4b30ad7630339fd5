#include "sim/explore/slurm/simulated_slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/explore/slurm/slurm_fixture.h"
#include "slurm/cluster_conformance.h"

namespace dove::slurm {
namespace {

// Without faults: those are the weather of an exploration.
class SimulatedBed : public SlurmBed {
 public:
  explicit SimulatedBed(std::uint64_t seed)
      : oracle_(trace_, agenda_, 1), slurm_(agenda_, oracle_, sim::quiet_slurm(seed)) {}

  SlurmCluster& cluster() override { return slurm_; }
  GateControl* gate() override { return &slurm_; }
  std::string node() override { return "n1"; }
  void pass_a_moment() override {
    bool passed = false;
    agenda_.in(100'000, [&passed] { passed = true; });
    while (!passed) agenda_.step();
  }
  std::int64_t begin_open(int gpus) override { return slurm_.begin_open(gpus); }
  std::int64_t begin_gated(int gpus) override { return slurm_.begin_gated(gpus, true); }
  // Each of its users wants what the job's number says.
  std::int64_t begin_signalled() override {
    for (;;) {
      const std::int64_t id = slurm_.begin_open(1);
      const JobSeen job = seen(id);
      if (job.may_requeue && *slurm_.warn(job.handle) > 0) return id;
      slurm_.user_cancels(id);
      while (!seen(id).allocations.empty() && seen(id).phase != JobPhase::kEnded) pass_a_moment();
    }
  }
  void user_cancels(std::int64_t job) override { slurm_.user_cancels(job); }

 private:
  JobSeen seen(std::int64_t id) {
    const Result<Observed> all = slurm_.observe();
    for (const JobSeen& job : all->jobs) {
      if (job.id == id) return job;
    }
    return {};
  }

  sim::Trace trace_;
  sim::Agenda agenda_;
  sim::Oracle oracle_;
  sim::SimulatedSlurm slurm_;
};

std::vector<NamedBed> beds() {
  std::vector<NamedBed> all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    all.push_back(
        {fmt::format("seed{}", seed), [seed] { return std::make_unique<SimulatedBed>(seed); }});
  }
  return all;
}

sim::SimulatedSlurmOptions of_four_gib() {
  sim::SimulatedSlurmOptions options = sim::quiet_slurm();
  options.memory_bytes = std::int64_t{4} << 30;
  return options;
}

class SimulatedSlurmTest : public sim::SlurmFixture {
 protected:
  SimulatedSlurmTest() : SlurmFixture(of_four_gib()) {}

  // For the next device: it is held, or there is no room.
  Result<std::int64_t> ask(std::int64_t memory_bytes, std::int64_t limit_minutes = 0) {
    Ask ask;
    ask.name = fmt::format("dove-{}.1@dove", ++asked_);
    ask.node = "n1";
    ask.gres = fmt::format("gpu:g_{}:1", asked_ - 1);
    ask.memory_bytes = memory_bytes;
    ask.limit_minutes = limit_minutes;
    return slurm_.ask(ask);
  }
  // A job of one device that runs, and may run again or not.
  const JobSeen& open(bool may_requeue) {
    for (;;) {
      const JobSeen& job = *slurm_.find_job(slurm_.begin_open(1));
      if (job.may_requeue == may_requeue) return job;
      slurm_.user_cancels(job.id);
      pass(60);
    }
  }
  bool comes_to(const JobSeen& job, JobPhase phase) {
    for (int i = 0; i < 100 && job.phase != phase; ++i) pass(5);
    return job.phase == phase;
  }
  bool is_there(std::int64_t id) { return slurm_.find_job(id) != nullptr; }

  int asked_ = 0;
};

TEST_F(SimulatedSlurmTest, NoByteIsGivenTwice) {
  const Result<std::int64_t> one = ask(std::int64_t{3} << 30);
  ASSERT_TRUE(one.ok());
  const Result<std::int64_t> two = ask(std::int64_t{2} << 30);
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().kind, ErrorKind::kConflict);
  ASSERT_TRUE(slurm_.release(*one).ok());
  EXPECT_TRUE(ask(std::int64_t{2} << 30).ok());
}

TEST_F(SimulatedSlurmTest, AJobEndsAtItsTimeLimitUnlessItIsGivenMore) {
  const Result<std::int64_t> short_one = ask(0, 5);
  const Result<std::int64_t> long_one = ask(0, 5);
  const Result<std::int64_t> endless = ask(0);
  ASSERT_TRUE(short_one.ok() && long_one.ok() && endless.ok());
  EXPECT_EQ(slurm_.find_job(*short_one)->ends_s, slurm_.now_s() + 300);
  ASSERT_TRUE(slurm_.set_limit(*long_one, 20).ok());
  pass(400);
  EXPECT_FALSE(is_there(*short_one));
  EXPECT_TRUE(is_there(*long_one));
  pass(1000);
  EXPECT_FALSE(is_there(*long_one));
  EXPECT_TRUE(is_there(*endless));
}

TEST_F(SimulatedSlurmTest, WithItsNodeAnAllocationIsOverAndABatchJobWaitsAgain) {
  const std::int64_t gated = slurm_.begin_gated(1, /*may_requeue=*/true);
  ASSERT_TRUE(
      slurm_.place(std::to_string(gated), {gated, "dovetail-gate run=17.1 restarts=0", "n1"}).ok());
  ASSERT_TRUE(slurm_.let_go(std::to_string(gated)).ok());
  pass(60);
  ASSERT_EQ(slurm_.find_job(gated)->phase, JobPhase::kHolding);
  asked_ = 2;  // of those that it left
  const Result<std::int64_t> ours = ask(0);
  ASSERT_TRUE(ours.ok()) << ours.error().message;
  slurm_.falls_silent("n1");
  pass(100);
  EXPECT_TRUE(is_there(*ours)) << "it may come back";
  EXPECT_FALSE(ask(0).ok());
  pass(300);
  EXPECT_FALSE(is_there(*ours));
  ASSERT_EQ(slurm_.find_job(gated)->phase, JobPhase::kWaiting);
  EXPECT_EQ(slurm_.find_job(gated)->gate->restarts, 1);
  slurm_.comes_back("n1");
  asked_ = 2;
  EXPECT_TRUE(ask(0).ok());
  pass(300);
  EXPECT_TRUE(slurm_.find_job(gated)->gate->is_held) << "its place was of another start";
}

TEST_F(SimulatedSlurmTest, AnAdministratorEndsOurAllocationsAlone) {
  const Result<std::int64_t> ours = ask(0);
  ASSERT_TRUE(ours.ok());
  const std::int64_t theirs = slurm_.begin_open(1);
  slurm_.administrator_cancels(*ours);
  slurm_.administrator_cancels(theirs);
  EXPECT_FALSE(is_there(*ours));
  EXPECT_TRUE(is_there(theirs));
}

TEST_F(SimulatedSlurmTest, WhatAnAdministratorHasDrainedStartsNothingUntilOneOpensIt) {
  slurm_.administrator_drains("n1");
  EXPECT_FALSE(ask(0).ok());
  EXPECT_EQ(slurm_.begin_open(1), 0);
  const Result<Observed> seen = slurm_.observe();
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->nodes[0].state, NodeSeen::State::kDrained);
  slurm_.administrator_opens("n1");
  EXPECT_TRUE(ask(0).ok());
  EXPECT_FALSE(oracle_.broken());
}

TEST_F(SimulatedSlurmTest, ADrainOfAnAdministratorIsNotForTheAdapterToTakeBack) {
  ASSERT_TRUE(slurm_.observe().ok());
  slurm_.administrator_drains("n1");
  ASSERT_TRUE(slurm_.set_drain("n1", "").ok());
  EXPECT_FALSE(oracle_.broken()) << "it looked before";
  slurm_.administrator_drains("n1");
  pass(1);
  ASSERT_TRUE(slurm_.observe().ok());
  ASSERT_TRUE(slurm_.set_drain("n1", "").ok());
  EXPECT_TRUE(oracle_.broken());
}

TEST_F(SimulatedSlurmTest, AJobThatIsPutBackLeavesItsDeviceToTheFenceThatWaitsAndRunsAgain) {
  const JobSeen& theirs = open(/*may_requeue=*/true);
  const int device = theirs.allocations.at(0).devices.at(0);
  Ask ask;
  ask.name = fmt::format("dove-keep-n1.{}@dove", device);
  ask.node = "n1";
  ask.gres = fmt::format("gpu:g_{}:1", device);
  ask.waits = true;
  const Result<std::int64_t> waiting = slurm_.ask(ask);
  ASSERT_TRUE(waiting.ok());
  const JobSeen& fence = *slurm_.find_job(*waiting);
  pass(10);
  EXPECT_EQ(fence.phase, JobPhase::kWaiting);
  EXPECT_EQ(slurm_.held_for_us(), ask.name) << "it holds nothing, and stands in the queue";
  ASSERT_TRUE(slurm_.requeue(theirs.handle, "put back").ok());
  ASSERT_TRUE(slurm_.requeue(theirs.handle, "put back").ok()) << "its answer was lost";
  ASSERT_TRUE(comes_to(theirs, JobPhase::kWaiting));
  EXPECT_EQ(theirs.restarts, 1);
  EXPECT_EQ(theirs.mark, "put back");
  EXPECT_EQ(slurm_.unfinished(), theirs.id);
  ASSERT_TRUE(comes_to(fence, JobPhase::kHolding));
  EXPECT_EQ(fence.allocations.at(0).devices, std::vector<int>{device});
  EXPECT_EQ(slurm_.held_for_us(), "");
  ASSERT_TRUE(comes_to(theirs, JobPhase::kHolding));
  EXPECT_NE(theirs.allocations.at(0).devices, fence.allocations.at(0).devices);
  EXPECT_EQ(slurm_.jobs_put_back(), 1u);
  EXPECT_FALSE(oracle_.broken());
  ASSERT_TRUE(slurm_.requeue(theirs.handle, "").ok());
  EXPECT_TRUE(oracle_.broken()) << "it has just begun again";
}

TEST_F(SimulatedSlurmTest, OneThatMayNotRunAgainIsNotPutBack) {
  const JobSeen& theirs = open(/*may_requeue=*/false);
  EXPECT_FALSE(slurm_.requeue(theirs.handle, "").ok());
  EXPECT_EQ(theirs.phase, JobPhase::kHolding);
  EXPECT_TRUE(oracle_.broken());
}

TEST_F(SimulatedSlurmTest, TasksOfAnArrayAreTakenApartByTheirNames) {
  const std::int64_t array = slurm_.begin_array(/*tasks=*/3, /*at_once=*/2, /*devices=*/1);
  const std::string first = std::to_string(array) + "_0";
  EXPECT_EQ(slurm_.find_job(array)->gate->array_tasks, "0-2%2");
  ASSERT_TRUE(slurm_.mark(first, "dovetail-gate").ok());
  ASSERT_TRUE(slurm_.mark(first, "dovetail-gate").ok()) << "its answer was lost";
  EXPECT_EQ(slurm_.find_job(array)->gate->array_tasks, "1-2%2");
  EXPECT_EQ(slurm_.find_job(array + 1)->gate->handle, first);
  for (const char* rest : {"_1", "_2"}) {
    ASSERT_TRUE(slurm_.mark(std::to_string(array) + rest, "dovetail-gate").ok());
  }
  EXPECT_EQ(slurm_.find_job(array)->gate->array_tasks, "");
  EXPECT_EQ(slurm_.find_job(array)->gate->handle, std::to_string(array) + "_2");
  slurm_.user_cancels(array);
  EXPECT_EQ(slurm_.unfinished(), 0);
}

TEST_F(SimulatedSlurmTest, WhatItsUserHoldsIsNotForTheAdapterToLetGo) {
  const std::int64_t gated = slurm_.begin_gated(1, /*may_requeue=*/true);
  slurm_.user_holds(gated);
  ASSERT_TRUE(slurm_.let_go(std::to_string(gated)).ok());
  EXPECT_FALSE(oracle_.broken()) << "it has not looked since";
  const std::int64_t other = slurm_.begin_gated(1, /*may_requeue=*/true);
  slurm_.user_holds(other);
  pass(1);
  ASSERT_TRUE(slurm_.observe().ok());
  ASSERT_TRUE(slurm_.let_go(std::to_string(other)).ok());
  EXPECT_TRUE(oracle_.broken());
}

TEST_F(SimulatedSlurmTest, WhatItsUserRequeuesAtTheGateWaitsThereForAnotherPlace) {
  const std::int64_t gated = slurm_.begin_gated(1, /*may_requeue=*/true);
  const std::string handle = std::to_string(gated);
  ASSERT_TRUE(slurm_.place(handle, {gated, "dovetail-gate run=17.1 restarts=0", "n1"}).ok());
  ASSERT_TRUE(slurm_.let_go(handle).ok());
  const JobSeen& job = *slurm_.find_job(gated);
  ASSERT_TRUE(comes_to(job, JobPhase::kHolding));
  slurm_.user_requeues(gated);
  ASSERT_TRUE(comes_to(job, JobPhase::kWaiting));
  EXPECT_FALSE(job.gate->is_held);
  pass(300);
  EXPECT_TRUE(job.gate->is_held) << "its place was of the start before";
}

// Three jobs of two devices want one node of four.
TEST_F(SimulatedSlurmTest, WithoutAGateTheFirstThatLacksRoomSaysSo) {
  sim::SimulatedSlurm slurm(agenda_, oracle_, sim::quiet_slurm(1, {.gate = false}));
  std::vector<const JobSeen*> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back(slurm.find_job(slurm.submit_open(2, false)));
  const auto first = [&] {
    const auto found = std::find_if(jobs.begin(), jobs.end(), [](const JobSeen* job) {
      return job->phase == JobPhase::kWaiting && job->reason == kLacksRoom;
    });
    return found == jobs.end() ? nullptr : *found;
  };
  for (int i = 0; i < 100 && first() == nullptr; ++i) pass(5);
  ASSERT_NE(first(), nullptr);
  ASSERT_TRUE(first()->asks.has_value());
  EXPECT_EQ(first()->asks->gpus_per_node, 2);
  const JobSeen& waiting = *first();
  for (const JobSeen* job : jobs) {
    if (job != &waiting) slurm.user_cancels(job->id);
  }
  EXPECT_TRUE(comes_to(waiting, JobPhase::kHolding));
  EXPECT_FALSE(waiting.asks.has_value());
}

INSTANTIATE_TEST_SUITE_P(Simulated, SlurmConformance, testing::ValuesIn(beds()), bed_name);
INSTANTIATE_TEST_SUITE_P(Simulated, GateConformance, testing::ValuesIn(beds()), bed_name);

}  // namespace
}  // namespace dove::slurm
