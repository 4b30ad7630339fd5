#include "sim/explore/slurm/simulated_steps.h"

#include <csignal>

#include "sim/explore/slurm/slurm_fixture.h"

namespace dove::sim {
namespace {

using slurm::StepSeen;

// Job 1 has device 0 of the one node in its placeholder, and is to run there for a minute.
class SimulatedStepsTest : public SlurmFixture {
 protected:
  SimulatedStepsTest() {
    batch({node_with(0), NodeConnected{NodeId(1), "boot"}});
    JobSpec spec;
    spec.groups.emplace_back().per_task.cores = 1;
    batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}});
    oracle_.set_beside([this](const TaskFacts& task) { return slurm_.not_held_for(task); });
    slurm::Ask ask;
    ask.name = "dove-1.1@dove";
    ask.node = "n1";
    ask.gres = "gpu:g_0:1";
    ask.is_users = true;
    placeholder_ = slurm_.ask(ask).value();
    wanted_.slurm_job = placeholder_;
    wanted_.work.key = {1, 1, "n1"};
    wanted_.work.ranks = {0};
    slurm::Program& program = wanted_.work.program.emplace();
    program.command = {"train"};
    program.environment = {{"EXPLORE_RUN_US", "60000000"}, {"EXPLORE_FAILS_PERCENT", "0"}};
    program.tasks.emplace_back();
  }
  StepSeen seen() { return steps_.all().value().at(0); }
  std::vector<slurm::TaskEnd> ends() {
    return slurm::ends_of(seen().said, seen().code, wanted_.work.ranks);
  }

  SimulatedSteps steps_{agenda_, oracle_, slurm_, /*has_faults=*/false, 1};
  std::int64_t placeholder_ = 0;
  slurm::StepWanted wanted_;
};

TEST_F(SimulatedStepsTest, ItRunsAndItsEndIsSeen) {
  ASSERT_TRUE(steps_.begin(wanted_).ok());
  pass(10);
  EXPECT_EQ(seen().state, StepSeen::State::kRunning);
  EXPECT_EQ(oracle_.tasks_running(), 1u);
  pass(70);
  EXPECT_EQ(oracle_.tasks_running(), 0u);
  ASSERT_EQ(seen().state, StepSeen::State::kEnded);
  EXPECT_EQ(ends(), (std::vector<slurm::TaskEnd>{{0, 0, 0, ""}}));
  steps_.forget(wanted_.work.key);
  EXPECT_TRUE(steps_.all().value().empty());
  EXPECT_EQ(oracle_.broken(), std::nullopt);
}

TEST_F(SimulatedStepsTest, ItIsStoppedByASignal) {
  ASSERT_TRUE(steps_.begin(wanted_).ok());
  pass(10);
  ASSERT_TRUE(steps_.signal(seen(), SIGKILL, 1, slurm_.now_s()).ok());
  EXPECT_EQ(seen().signals, 1);
  pass(20);
  EXPECT_EQ(ends(), (std::vector<slurm::TaskEnd>{{0, 0, SIGKILL, ""}}));
}

TEST_F(SimulatedStepsTest, ItsAllocationStaysAsLongAsItsProcessesEnd) {
  ASSERT_TRUE(steps_.begin(wanted_).ok());
  pass(10);
  ASSERT_TRUE(slurm_.release(placeholder_).ok());
  EXPECT_EQ(slurm_.find_job(placeholder_)->phase, slurm::JobPhase::kEnding);
  EXPECT_EQ(oracle_.tasks_running(), 1u);
  pass(40);
  EXPECT_EQ(slurm_.find_job(placeholder_), nullptr);
  EXPECT_EQ(oracle_.tasks_running(), 0u);
}

TEST_F(SimulatedStepsTest, WithoutItsAllocationNothingBegins) {
  ASSERT_TRUE(steps_.begin(wanted_).ok());
  ASSERT_TRUE(slurm_.release(placeholder_).ok());
  pass(20);
  EXPECT_EQ(seen().state, StepSeen::State::kEnded);
  EXPECT_TRUE(ends().empty());
  EXPECT_EQ(oracle_.tasks_started(), 0u);
}

TEST_F(SimulatedStepsTest, WhatAnotherAdapterBeginsAgainIsFound) {
  ASSERT_TRUE(steps_.begin(wanted_).ok());
  pass(10);
  steps_.lose_all();
  ASSERT_TRUE(steps_.begin(wanted_).ok());
  pass(10);
  EXPECT_NE(oracle_.broken().value_or("").find("starts a second time"), std::string::npos);
}

}  // namespace
}  // namespace dove::sim
