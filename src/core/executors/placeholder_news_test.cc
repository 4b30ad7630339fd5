#include "core/executors/placeholder_news.h"

#include <gtest/gtest.h>

#include "core/executors/sync.h"
#include "core/state/cluster_fixture.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// A node of four cores, which a Slurm schedules, too.
class PlaceholderNewsTest : public testing::Test {
 protected:
  PlaceholderNewsTest() {
    cluster.declare(executor);
    tell({});
  }
  ~PlaceholderNewsTest() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  std::size_t tell(const Observation& said) {
    const std::vector<Event> events = news(cluster.state, executor, said);
    for (const Event& event : events) cluster.tell(event);
    return events.size();
  }
  static void add_held(Observation& said, JobId job, const CoreSet& cores) {
    said.placeholders.push_back(
        {job, 1, "n1", std::to_string(job.value), PlaceholderStage::kConfirmed, "", {}});
    said.placeholders.back().cores = cores;
  }
  // A job whose placeholder is confirmed and that has started.
  JobId start(Observation& said) {
    const JobId job = launch();
    add_held(said, job, cores(job));
    tell(said);
    cluster.tell(PlacementPrepared{job, 1, NodeId(1)});
    cluster.decided(Start{job, 1});
    return job;
  }
  JobId launch() {
    const JobId job = cluster.submit({.cores = 2});
    cluster.launch(job);
    return job;
  }
  const Placeholder& placeholder(JobId job) const {
    return cluster.state.placeholders.at({job, 1, NodeId(1), "slurm"});
  }
  CoreSet cores(JobId job) const {
    return cluster.job(job).attempts.back().placements[0].placement->cores;
  }

  TestCluster cluster{1, {.cores = 4}};
  Executor executor{"slurm", "", {"n1"}, true, {}};
};

// Slurm knows that the first has ended, and the ledger does not yet. The second would be pinned to
// cores that Slurm may give to anybody.
TEST_F(PlaceholderNewsTest, OneThatWasGivenAnothersCoresWaitsForItsEnd) {
  Observation said;
  const JobId first = start(said);
  const JobId second = launch();
  const CoreSet granted = cores(second);
  add_held(said, second, cores(first));
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kAsked);
  EXPECT_EQ(placeholder(second).why, "it was given cores of job 1, whose end is not known yet");
  EXPECT_EQ(cores(second), granted);
  EXPECT_EQ(tell(said), 0u) << "said again, nothing is new";
  const CoreSet given = cores(first);
  cluster.tell(PlacementEnded{first, 1, NodeId(1), {}, 0, 0, {}});
  said.placeholders.erase(said.placeholders.begin());
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kConfirmed);
  EXPECT_EQ(cores(second), given);
}

TEST_F(PlaceholderNewsTest, OneThatWaitsForLongIsTriedAgain) {
  Observation said;
  const JobId first = start(said);
  const JobId second = launch();
  add_held(said, second, cores(first));
  tell(said);
  cluster.pass(seconds(31));
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kRefused);
  EXPECT_EQ(tell(said), 0u);
}

// It had to wait for room in Slurm before.
TEST_F(PlaceholderNewsTest, TheWaitBeginsWhenItHasTheCores) {
  Observation said;
  const JobId first = start(said);
  const JobId second = launch();
  add_held(said, second, cores(first));
  said.placeholders.back().stage = PlaceholderStage::kAsked;
  tell(said);
  cluster.pass(seconds(60));
  said.placeholders.back().stage = PlaceholderStage::kConfirmed;
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kAsked);
  cluster.pass(seconds(29));
  EXPECT_EQ(tell(said), 0u);
  cluster.end(first);
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kConfirmed);
}

// Cores get other names between two that both wait.
TEST_F(PlaceholderNewsTest, OneThatWaitsItselfIsInNobodysWay) {
  const JobId first = launch();
  const JobId second = launch();
  const CoreSet of_first = cores(first);
  Observation said;
  add_held(said, second, of_first);
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kConfirmed);
  EXPECT_EQ(cores(second), of_first);
}

TEST_F(PlaceholderNewsTest, WhatTheExecutorRunsWaitsLikewise) {
  executor.runs_jobs = true;
  cluster.declare(executor);
  Observation said;
  const JobId first = start(said);
  JobSpec spec = spec_of({.cores = 2});
  spec.executor = "slurm";
  const JobId second = cluster.submit(spec);
  cluster.launch(second);
  add_held(said, second, cores(first));
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kAsked);
  const CoreSet of_first = cores(first);
  cluster.end(first);
  tell(said);
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kConfirmed);
  EXPECT_EQ(cores(second), of_first);
}

// The fold's own answer: the report was made before the other job got the cores.
TEST_F(PlaceholderNewsTest, AConfirmationThatComesTooLateWaits) {
  cluster.state.level = kFirstLevel + 1;
  Observation said;
  const JobId first = start(said);
  const JobId second = launch();
  const CoreSet of_second = cores(second);
  cluster.tell(PlaceholderMoved{"slurm", second, 1, NodeId(1), PlaceholderStage::kConfirmed, "12",
                                "", cores(first)});
  EXPECT_EQ(placeholder(second).stage, PlaceholderStage::kAsked);
  EXPECT_EQ(cores(second), of_second);
}

// A new placeholder would not bring back what ran in the old one.
TEST_F(PlaceholderNewsTest, OneInWhichTheExecutorRanAJobIsNotAskedForAgain) {
  executor.runs_jobs = true;
  cluster.declare(executor);
  JobSpec spec = spec_of({.cores = 2});
  spec.executor = "slurm";
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  Observation said;
  add_held(said, job, cores(job));
  tell(said);
  EXPECT_EQ(wanted(cluster.state, "slurm").placeholders.size(), 1u);
  cluster.start(job);
  said.complete = false;  // of what it ran there, the executor says nothing yet
  said.placeholders[0].stage = PlaceholderStage::kGone;
  tell(said);
  EXPECT_EQ(placeholder(job).stage, PlaceholderStage::kWanted);
  EXPECT_TRUE(wanted(cluster.state, "slurm").placeholders.empty());
  EXPECT_EQ(cluster.job(job).attempts.back().stage, Stage::kRunning);

  tell({});  // all that it has, and the job is not in it
  const std::vector<TaskExit>& exits = cluster.job(job).attempts.back().exits;
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0].cause, "executor_lost");
}

}  // namespace
}  // namespace dove::core
