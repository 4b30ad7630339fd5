#include "slurm/works/works.h"

#include <gtest/gtest.h>

#include <csignal>

namespace dove::slurm {
namespace {

const PlaceholderKey kKey{17, 1, "n1"};

class WorksTest : public testing::Test {
 protected:
  WorksTest() {
    WantedWork& work = wanted.emplace_back();
    work.key = kKey;
    work.ranks = {0, 1};
    work.grace_s = 10;
    work.program.emplace().command = {"true"};
    allocations.held[kKey] = 12;
    allocations.living = {{12, {17, 1}}};
  }
  StepSeen& step(StepSeen::State state) {
    steps = {StepSeen{}};
    steps[0].key = kKey;
    steps[0].state = state;
    steps[0].slurm_job = 12;
    return steps[0];
  }
  WorkPlan plan() const { return plan_works(wanted, steps, allocations, refused, now_s); }
  // The signals that are sent from now on, as seconds and numbers, until `until_s`.
  std::vector<std::pair<std::int64_t, int>> signals(std::int64_t until_s) {
    std::vector<std::pair<std::int64_t, int>> sent;
    for (; now_s <= until_s; ++now_s) {
      for (const StepSignal& one : plan().signals) {
        sent.emplace_back(now_s, one.signal);
        if (steps[0].stop_since_s == 0) steps[0].stop_since_s = now_s;
        steps[0].signals = one.number;
      }
    }
    return sent;
  }

  std::vector<WantedWork> wanted;
  std::vector<StepSeen> steps;
  Allocations allocations;
  std::map<PlaceholderKey, std::string> refused;
  std::int64_t now_s = 1000;
};

TEST_F(WorksTest, ItBeginsInItsPlaceholderOnly) {
  EXPECT_EQ(plan().begin.size(), 1u);
  allocations.held.clear();
  EXPECT_TRUE(plan().begin.empty());
  EXPECT_TRUE(plan().reports.empty()) << "the ledger hears that the placeholder is gone";
}

TEST_F(WorksTest, AScriptOfSeveralNodesKnowsThemByRank) {
  wanted[0].nodes = 2;
  wanted.push_back(wanted[0]);
  wanted[1].key.node = "n0";
  wanted[1].node_rank = 1;
  wanted[1].cores = 3;
  Observed observed;
  observed.nodes.emplace_back().name = "n0";
  observed.nodes[0].cpus_per_core = 2;
  std::vector<PlaceholderReport> reports(2);
  reports[0].key = wanted[1].key;
  reports[1].key = kKey;
  reports[0].id = 13;
  reports[1].id = 12;
  reports[0].state = PlaceholderState::kConfirmed;
  EXPECT_TRUE(held_nodes(wanted[0], wanted, reports, observed).empty()) << "one is asked for only";
  reports[1].state = PlaceholderState::kConfirmed;
  const auto nodes = held_nodes(wanted[0], wanted, reports, observed);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].slurm_job, 12);
  EXPECT_EQ(nodes[1].slurm_job, 13);
  EXPECT_EQ(nodes[1].cpus, 6);
}

TEST_F(WorksTest, OtherNodesOfAScriptEndWithItAndWithoutCodes) {
  wanted[0].ranks.clear();
  step(StepSeen::State::kEnded).code = 137;
  steps[0].said = "srun: error: n1: task 0: Killed\n";
  wanted[0].started = true;
  EXPECT_EQ(plan().release.size(), 1u) << "nobody stopped it: it is lost";
  wanted[0].stop = true;
  ASSERT_EQ(plan().reports.size(), 1u);
  EXPECT_TRUE(plan().reports[0].has_ended);
  EXPECT_TRUE(plan().reports[0].exits.empty());
}

TEST_F(WorksTest, JobsOfSlurmsUsersAreNotBegun) {
  wanted[0].foreign_job = "77";
  EXPECT_TRUE(plan().begin.empty());
  EXPECT_TRUE(plan().reports.empty());
}

TEST_F(WorksTest, WhatRunsIsToldAndNotBegunAgain) {
  step(StepSeen::State::kRunning).said = "srun: error: n1: task 1: Exited with exit code 2\n";
  const WorkPlan now = plan();
  EXPECT_TRUE(now.begin.empty());
  ASSERT_EQ(now.reports.size(), 1u);
  EXPECT_FALSE(now.reports[0].has_ended);
  EXPECT_EQ(now.reports[0].exits, (std::vector<TaskEnd>{{1, 2, 0, ""}}));
}

TEST_F(WorksTest, AnEndIsToldUntilNobodyWantsIt) {
  step(StepSeen::State::kEnded);
  ASSERT_EQ(plan().reports.size(), 1u);
  EXPECT_TRUE(plan().reports[0].has_ended);
  EXPECT_EQ(plan().reports[0].exits.size(), 2u);
  EXPECT_TRUE(plan().forget.empty());
  wanted.clear();
  EXPECT_EQ(plan().forget.size(), 1u);
}

TEST_F(WorksTest, WhatCouldNotBeginSaysWhy) {
  StepSeen& ended = step(StepSeen::State::kEnded);
  ended.code = 1;
  ended.said = "srun: error: Unable to create step for job 12: Invalid user\n";
  EXPECT_TRUE(plan().reports[0].exits.empty());
  EXPECT_NE(plan().reports[0].why.find("Invalid user"), std::string::npos);
  steps.clear();
  refused[kKey] = "there is no Linux user";
  EXPECT_TRUE(plan().begin.empty());
  EXPECT_EQ(plan().reports[0].why, "there is no Linux user");
}

TEST_F(WorksTest, OneThatNobodyWatchedEndsWithItsAllocation) {
  step(StepSeen::State::kLost);
  EXPECT_EQ(plan().release, std::vector<std::int64_t>{12});
  EXPECT_TRUE(plan().reports.empty()) << "it may still run";
  allocations.held.clear();
  ASSERT_EQ(plan().reports.size(), 1u);
  EXPECT_EQ(plan().reports[0].exits[0].cause, "executor_lost");
  // The same where the ledger knows that it runs, and we know nothing.
  steps.clear();
  wanted[0].started = true;
  EXPECT_TRUE(plan().begin.empty());
  EXPECT_TRUE(plan().reports[0].has_ended);
}

TEST_F(WorksTest, WhileSlurmDoesNotAnswerNothingIsLost) {
  allocations = {};
  allocations.known = false;
  step(StepSeen::State::kLost);
  EXPECT_EQ(plan().reports, (std::vector<WorkReport>{{kKey, false, {}, ""}}));
  steps.clear();
  wanted[0].started = true;
  EXPECT_EQ(plan().reports, (std::vector<WorkReport>{{kKey, false, {}, ""}}));
  wanted[0].started = false;
  wanted[0].stop = true;
  EXPECT_TRUE(plan().reports.empty()) << "another adapter may have begun it";
  step(StepSeen::State::kEnded);
  ASSERT_EQ(plan().reports.size(), 1u);
  EXPECT_TRUE(plan().reports[0].has_ended) << "its srun says so";
}

TEST_F(WorksTest, WhatAnAdapterElsewhereHasBegunIsNotBegunAgain) {
  allocations.begun = {kKey};
  EXPECT_TRUE(plan().begin.empty());
  EXPECT_EQ(plan().release, std::vector<std::int64_t>{12}) << "it may run there";
  EXPECT_TRUE(plan().reports.empty());
  allocations.held.clear();
  EXPECT_EQ(plan().reports.at(0).exits.at(0).cause, "executor_lost");
  // One that could not begin has run nothing.
  refused[kKey] = "there is no Linux user";
  EXPECT_EQ(plan().reports.at(0).why, "there is no Linux user");
}

TEST_F(WorksTest, TheEndOfAKilledSrunIsNotTheEndOfItsTasks) {
  step(StepSeen::State::kEnded).code = 137;
  EXPECT_EQ(plan().release, std::vector<std::int64_t>{12});
  EXPECT_TRUE(plan().reports.empty()) << "its tasks run on";
  allocations.held[kKey] = kEnding_job;
  EXPECT_TRUE(plan().release.empty());
  ASSERT_EQ(plan().reports.size(), 1u) << "its placeholder is reported as gone";
  EXPECT_FALSE(plan().reports[0].has_ended) << "Slurm is still ending them";
  allocations.held.clear();
  ASSERT_EQ(plan().reports.size(), 1u);
  EXPECT_EQ(plan().reports[0].exits[0].cause, "executor_lost");
}

TEST_F(WorksTest, WithoutAViewOfTheSrunsNothingHasEnded) {
  EXPECT_TRUE(unseen_works(wanted, allocations).empty()) << "it was not begun";
  allocations.begun = {kKey};
  EXPECT_EQ(unseen_works(wanted, allocations), (std::vector<WorkReport>{{kKey, false, {}, ""}}));
  allocations.begun.clear();
  wanted[0].started = true;
  EXPECT_EQ(unseen_works(wanted, allocations).size(), 1u);
  wanted[0].foreign_job = "77";
  EXPECT_TRUE(unseen_works(wanted, allocations).empty());
}

TEST_F(WorksTest, NothingBeginsInAPlaceholderThatIsEnding) {
  allocations.held[kKey] = kEnding_job;
  EXPECT_TRUE(plan().begin.empty());
}

TEST_F(WorksTest, ASrunWhoseAllocationHasEndedIsGivenUpOnce) {
  StepSeen& one = step(StepSeen::State::kRunning);
  EXPECT_TRUE(plan().give_up.empty());
  allocations.held[kKey] = 13;  // it was asked for again
  allocations.living = {{13, {17, 1}}};
  wanted[0].stop = true;
  EXPECT_EQ(plan().give_up, std::vector<PlaceholderKey>{kKey});
  EXPECT_TRUE(plan().signals.empty()) << "there is nothing that would get them";
  one.is_given_up = true;
  now_s += 3600;
  EXPECT_TRUE(plan().give_up.empty());
  EXPECT_TRUE(plan().release.empty());
  wanted.clear();
  one.is_given_up = false;
  EXPECT_EQ(plan().give_up.size(), 1u);
  allocations.living = {{12, {17, 1}}};
  EXPECT_TRUE(plan().give_up.empty());
}

// Slurm was set up anew, and counts from 1 again.
TEST_F(WorksTest, NothingIsSentToAnotherJobThatHasTheNumberNow) {
  StepSeen& one = step(StepSeen::State::kRunning);
  allocations.held.clear();
  allocations.living = {{12, {18, 1}}};
  wanted[0].stop = true;
  EXPECT_TRUE(plan().signals.empty());
  EXPECT_EQ(plan().give_up, std::vector<PlaceholderKey>{kKey});
  one.stop_since_s = now_s - 3600;
  one.signals = 2;
  EXPECT_TRUE(plan().release.empty());
}

TEST_F(WorksTest, ItIsStoppedWithItsGrace) {
  step(StepSeen::State::kRunning);
  wanted[0].stop = true;
  EXPECT_EQ(signals(1030),
            (std::vector<std::pair<std::int64_t, int>>{{1000, 15}, {1010, SIGKILL}}));
  EXPECT_TRUE(plan().release.empty());
  now_s = 1040;
  EXPECT_EQ(plan().release, std::vector<std::int64_t>{12}) << "the kill did not help";
}

TEST_F(WorksTest, OneThatWasToldToStopByALaterClockHasItsGraceFromNowOn) {
  StepSeen& one = step(StepSeen::State::kRunning);
  wanted[0].stop = true;
  one.stop_since_s = now_s + 3600;
  one.signals = 1;
  const WorkPlan first = plan();
  ASSERT_EQ(first.signals.size(), 1u);
  EXPECT_EQ(first.signals[0].signal, 15);
  EXPECT_EQ(first.signals[0].number, 1);
  EXPECT_EQ(first.signals[0].step.stop_since_s, 0) << "it is kept anew";
  one.stop_since_s = now_s;
  EXPECT_EQ(signals(1030), (std::vector<std::pair<std::int64_t, int>>{{1010, SIGKILL}}));
  one.stop_since_s = now_s + 2;
  EXPECT_TRUE(plan().signals.empty()) << "a time server did that";
}

TEST_F(WorksTest, ACheckpointComesFirst) {
  step(StepSeen::State::kRunning);
  wanted[0].stop = true;
  wanted[0].checkpoint_signal = SIGUSR1;
  wanted[0].checkpoint_grace_s = 5;
  wanted[0].stop_signal = SIGINT;
  EXPECT_EQ(signals(1030), (std::vector<std::pair<std::int64_t, int>>{
                               {1000, SIGUSR1}, {1005, SIGINT}, {1015, SIGKILL}}));
}

TEST_F(WorksTest, ItIsWarnedOnceBeforeItsTimeIsOver) {
  StepSeen& one = step(StepSeen::State::kRunning);
  wanted[0].warning = {SIGUSR1, 1005, /*steps_first=*/true};
  EXPECT_TRUE(plan().signals.empty());
  now_s = 1007;  // the adapter was away when it was due
  ASSERT_EQ(plan().signals.size(), 1u);
  EXPECT_EQ(plan().signals[0].number, 0) << "it does not begin to stop it";
  EXPECT_EQ(plan().signals[0].warning.signal, SIGUSR1);
  EXPECT_TRUE(plan().signals[0].warning.steps_first);
  one.is_warned = true;
  EXPECT_TRUE(plan().signals.empty());
  one.is_warned = false;
  wanted[0].stop = true;
  ASSERT_EQ(plan().signals.size(), 1u);
  EXPECT_EQ(plan().signals[0].signal, SIGTERM) << "it is too late";
}

TEST_F(WorksTest, OneThatIsStoppedBeforeItBeganHasEnded) {
  wanted[0].stop = true;
  EXPECT_TRUE(plan().begin.empty());
  ASSERT_EQ(plan().reports.size(), 1u);
  EXPECT_TRUE(plan().reports[0].has_ended);
  EXPECT_TRUE(plan().reports[0].exits.empty());
}

}  // namespace
}  // namespace dove::slurm
