#include "core/state/learned/learned.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

constexpr Span kTwo_days = seconds(2 * 86'400);

class LearnedTest : public testing::Test {
 protected:
  LearnedTest() { order("learned"); }
  void order(const char* name) {
    ClusterSettings settings;
    settings.order = name;
    cluster.declare(settings);
  }
  // A job of one GPU ran so long and ended.
  void ended(Span ran) {
    Job job;
    job.spec = std::make_shared<const JobSpec>(spec_of({.gpus = 1}));
    job.ran_before = ran;
    learn_attempt(state, job, Span{});
    learn_end(state, job);
  }
  // By what comes up to so long after it it is passed.
  Span passed(const Ask& ask) {
    const Job& job = cluster.job(cluster.submit(ask));
    return Span{job.learned_key - job.submitted_at.us};
  }
  std::int64_t width(const Ask& ask) { return width_milli(cluster.job(cluster.submit(ask))); }

  TestCluster cluster{1, {.cores = 8, .gpus = 8}};
  State& state = cluster.state;
  const Ask one{.gpus = 1};
  const Ask stoppable{.gpus = 1, .preempt = Preempt::kRestart};
};

TEST_F(LearnedTest, TheWidthIsThatOfItsGpusElseOfItsCores) {
  EXPECT_EQ(width({.cores = 4, .gpus = 2, .tasks = 3}), 6000);
  EXPECT_EQ(width({.cores = 4}), 400);
  EXPECT_EQ(width({.cores = 0}), 1);
}

TEST_F(LearnedTest, NothingIsKeptUnlessAnOrderIsCalledSo) {
  for (const char* name : {"priority_fifo", "learnedly", "un/learned"}) {
    order(name);
    EXPECT_FALSE(state.learned.kept) << name;
  }
  order("learned/2");
  EXPECT_TRUE(state.learned.kept);
  order("priority_fifo");
  Queue queue = queue_of("team");
  queue.order = "learned";
  cluster.declare(queue);
  EXPECT_TRUE(state.learned.kept) << "a queue's is enough";
}

TEST_F(LearnedTest, WhatWaitsWhenItBeginsComesFirst) {
  order("priority_fifo");
  const JobId early = cluster.submit(one);
  order("learned");
  EXPECT_EQ(cluster.job(early).learned_key, 0);
  EXPECT_EQ(state.learned.waiting_ms, 0);
  EXPECT_GT(passed(one), Span{});
}

TEST_F(LearnedTest, AJobIsLikelyToTakeWhatTheOthersTookAtMostItsLimit) {
  const auto likely = [&](const Ask& ask) { return cluster.job(cluster.submit(ask)).likely_ms; };
  EXPECT_EQ(likely(one), 600'000) << "nothing is known yet";
  EXPECT_EQ(likely({.gpus = 2}), 1'200'000);
  EXPECT_EQ(likely({.gpus = 1, .limit_s = 60}), 60'000);
  EXPECT_EQ(likely({.gpus = 1, .limit_s = 6000}), 600'000);
  for (int i = 0; i < 100; ++i) ended(seconds(30));
  EXPECT_LT(likely(one), 60'000);
}

TEST_F(LearnedTest, WhatWaitsIsCountedUntilItRuns) {
  const JobId first = cluster.submit(one);
  EXPECT_EQ(state.learned.waiting_ms, 600'000);
  cluster.submit(one);
  EXPECT_EQ(state.learned.waiting_ms, 1'200'000);
  cluster.launch(first);
  EXPECT_EQ(state.learned.waiting_ms, 600'000);
  EXPECT_EQ(cluster.job(first).likely_ms, 0);
}

TEST_F(LearnedTest, TheLongerAndTheWiderAJobTheLongerItIsPassed) {
  const Span brief = passed({.gpus = 1, .limit_s = 60});
  const Span usual = passed({.gpus = 1, .limit_s = 600});
  const Span wide = passed({.gpus = 4, .limit_s = 600});
  EXPECT_LT(brief, usual);
  EXPECT_LT(usual, wide);
  EXPECT_EQ(passed({.gpus = 1, .limit_s = 1}).us / 1'000'000, 0) << "less than one doubling";
}

TEST_F(LearnedTest, OneThatMayNotBeStoppedIsPassedForTwoDaysAtMost) {
  for (int i = 0; i < 100; ++i) ended(seconds(86'400));
  const Ask wide{.gpus = 8, .tasks = 64};
  EXPECT_LE(passed(wide), kTwo_days);
  EXPECT_GT(passed(wide), seconds(86'400));
  EXPECT_GT(passed(stoppable), kTwo_days);
}

TEST_F(LearnedTest, OneThatHasNotRunTeachesNothing) {
  ended(Span{});
  EXPECT_EQ(state.learned.service.jobs_ended, 0);
  ended(seconds(1));
  EXPECT_EQ(state.learned.service.jobs_ended, 1);
}

TEST_F(LearnedTest, TheOutlookIsReadAgainWhenAQuarterMoreHaveEnded) {
  for (int i = 0; i < 8; ++i) ended(seconds(100));
  const Span mean = state.learned.outlook.mean_run;
  ended(seconds(1'000'000));
  EXPECT_EQ(state.learned.outlook.mean_run, mean) << "nine are less than a quarter more than eight";
  ended(seconds(1'000'000));
  EXPECT_GT(state.learned.outlook.mean_run, mean);
}

TEST_F(LearnedTest, ARunningJobIsJudgedByWhatItHasHad) {
  const JobId id = cluster.submit_and_start(stoppable);
  const Job& job = cluster.job(id);
  const Instant first = learned_change(state, job);
  EXPECT_EQ(first, state.now + service_level_end(0, 1000));
  const std::int64_t before = learned_key(state, job);
  cluster.pass(first - state.now);
  EXPECT_NE(learned_key(state, job), before);
  EXPECT_EQ(learned_change(state, job), job.attempts[0].started_at + service_level_end(1, 1000));
}

TEST_F(LearnedTest, WhatItRanBeforeCounts) {
  Job& job = *state.find_job(cluster.submit_and_start(stoppable));
  job.ran_before = seconds(500);
  EXPECT_EQ(learned_change(state, job), state.now + seconds(100));
}

TEST_F(LearnedTest, NothingChangesForOneThatDoesNotRun) {
  const JobId id = cluster.submit(stoppable);
  EXPECT_EQ(learned_change(state, cluster.job(id)), kNever);
  cluster.launch(id);
  EXPECT_EQ(learned_change(state, cluster.job(id)), kNever) << "it has not begun";
  cluster.start(id);
  EXPECT_NE(learned_change(state, cluster.job(id)), kNever);
  order("priority_fifo");
  EXPECT_EQ(learned_change(state, cluster.job(id)), kNever);
}

TEST_F(LearnedTest, HalfAsMuchAgainIsMoreTheMoreThereIsThatWaits) {
  const Span half = half_as_much_again(state);
  for (int i = 0; i < 100; ++i) cluster.submit(one);
  EXPECT_GT(half_as_much_again(state), half);
  EXPECT_GT(half, Span{});
}

}  // namespace
}  // namespace dove::core
