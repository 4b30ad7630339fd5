#include "core/state/executors/unwatched.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/holders/month_use.h"
#include "core/state/invariants.h"
#include "core/state/past/past_use.h"

namespace dove::core {
namespace {

// A Slurm whose account "lab" stands for a queue, and whose adapter was heard first at `begun`.
class UnwatchedUse : public testing::Test {
 protected:
  UnwatchedUse() { prepare(cluster); }
  ~UnwatchedUse() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  static void prepare(TestCluster& made) {
    Queue queue;
    queue.name = "research";
    queue.limits.gpu_ms_month = std::int64_t{1} << 40;
    made.declare(queue);
    made.declare(Executor{"slurm", "", {"n[1-2]"}, true, {{"lab", "research"}}});
    made.tell(ForeignWatchResumed{"slurm", {}});
    made.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }
  static void observe(TestCluster& made, const std::string& id, Instant started = {}) {
    ForeignAllocation allocation;
    allocation.id = id;
    allocation.cores = {0, 1};
    allocation.devices = {0};
    allocation.account = "lab";
    allocation.started_at = started;
    made.tell(ForeignAllocationObserved{"slurm", NodeId(1), std::move(allocation)});
  }
  static void end(TestCluster& made, const std::string& id) {
    made.tell(ForeignAllocationEnded{"slurm", NodeId(1), id});
  }
  // The first report after a time that began `after` the mark.
  void come_back(Span after) {
    cluster.pass(after);
    cluster.tell(ForeignWatchResumed{"slurm", standing().watched_until});
  }
  const ExecutorStanding& standing() const { return cluster.state.standings.at("slurm"); }
  Instant at(std::int64_t s) const { return begun + seconds(s); }
  // The same as observe() holds.
  ForeignUse use(const std::string& id, std::int64_t from_s, std::int64_t to_s) const {
    return {id, "lab", at(from_s), at(to_s), 2, 1000, 0};
  }
  void find(std::vector<ForeignUse> uses) {
    const Unwatched& gap = standing().unwatched.front();
    find(gap.to, gap.counted, gap.to, std::move(uses));
  }
  void find(Instant gap, Instant from, Instant until, std::vector<ForeignUse> uses) {
    cluster.tell(ForeignUseFound{"slurm", gap, from, until, std::move(uses)});
  }
  static double past(const TestCluster& made) {
    const State& state = made.state;
    const auto used = state.usage_by_queue.find("research");
    const auto past = state.past_by_queue.find("research");
    if (past == state.past_by_queue.end()) return 0;
    return static_cast<double>(
        past_use_at(past->second, used == state.usage_by_queue.end() ? Usage{} : used->second,
                    state.settings.fair_share_half_life, state.now));
  }
  static std::int64_t month(const TestCluster& made) {
    return month_use_of(made.state, made.state.month_by_queue, made.state.usage_by_queue,
                        "research");
  }
  // As much as if the job had been watched all its time, and all had ended by now.
  void expect_as_watched(std::int64_t from_s, std::int64_t to_s) {
    TestCluster watched{2, {.cores = 8, .gpus = 4}};
    prepare(watched);
    watched.pass(at(from_s) - watched.state.now);
    observe(watched, "7");
    watched.pass(seconds(to_s - from_s));
    end(watched, "7");
    watched.pass(cluster.state.now - watched.state.now);
    EXPECT_GT(past(watched), 0);
    EXPECT_NEAR(past(cluster), past(watched), past(watched) / 200);
    EXPECT_EQ(month(cluster), month(watched));
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 4}};
  const Instant begun = cluster.state.now;
};

TEST_F(UnwatchedUse, AJobThatNobodySawIsChargedAsIfItHadBeenWatched) {
  come_back(seconds(10'000));
  ASSERT_EQ(standing().unwatched.size(), 1u);
  cluster.pass(seconds(60));
  EXPECT_EQ(past(cluster), 0);
  find({use("7", 1000, 4000)});
  expect_as_watched(1000, 4000);
  EXPECT_TRUE(standing().unwatched.empty());
}

TEST_F(UnwatchedUse, WhatIsLongAgoHasDecayed) {
  cluster.state.settings.fair_share_half_life = seconds(3600);
  come_back(seconds(30 * 86'400));
  find({use("7", 0, 86'400), use("8", 29 * 86'400, 30 * 86'400 - 3600)});
  const double rate = 1200;                        // thousandths of a GPU, each hour 3.6e6 ms
  const double endless = rate * 3.6e6 * 1.442695;  // what use without end adds up to
  EXPECT_NEAR(past(cluster), endless / 2, endless / 50) << "an hour after its end half is left";
}

TEST_F(UnwatchedUse, ADoubledAnswerIsChargedOnce) {
  come_back(seconds(10'000));
  const Unwatched gap = standing().unwatched.front();
  for (int i = 0; i < 3; ++i) find(gap.to, gap.from, gap.to, {use("7", 1000, 4000)});
  expect_as_watched(1000, 4000);
  cluster.tell(ForeignWatchResumed{"slurm", gap.from});
  EXPECT_TRUE(standing().unwatched.empty()) << "the report came twice";
}

TEST_F(UnwatchedUse, PartsAreTakenInTheirOrderAlone) {
  come_back(seconds(10'000));
  const Instant gap = cluster.state.now;
  find(gap, at(5000), gap, {use("8", 5000, 6000)});
  EXPECT_EQ(past(cluster), 0) << "not the next one";
  find(gap, at(0), at(5000), {use("7", 1000, 4000)});
  find(gap, at(0), gap, {use("7", 1000, 4000)});
  EXPECT_EQ(standing().unwatched.front().counted, at(5000));
  find(gap, at(5000), gap, {});
  expect_as_watched(1000, 4000);
  EXPECT_TRUE(standing().unwatched.empty());
}

TEST_F(UnwatchedUse, WhatWasKnownAndEndedMeanwhileIsChargedUpToItsEnd) {
  observe(cluster, "7");
  come_back(seconds(10'000));
  end(cluster, "7");
  cluster.pass(seconds(60));
  find({use("7", 0, 4000)});
  expect_as_watched(0, 4000);
}

TEST_F(UnwatchedUse, AJobThatRanAgainIsChargedForBothOfItsLives) {
  observe(cluster, "7");
  come_back(seconds(10'000));
  end(cluster, "7");
  find({use("7", 0, 1000), use("7", 1000, 4000)});
  expect_as_watched(0, 4000);
}

TEST_F(UnwatchedUse, WhatBeganMeanwhileAndRunsIsChargedFromItsStart) {
  come_back(seconds(10'000));
  observe(cluster, "7", at(1000));
  cluster.pass(seconds(100));
  end(cluster, "7");
  // By the clock of the executor it ended just before it was seen.
  find({use("7", 1000, 9999)});
  expect_as_watched(1000, 10'100);
}

TEST_F(UnwatchedUse, OutsideOfSuchATimeAStartChargesNothing) {
  cluster.pass(seconds(10'000));
  observe(cluster, "7", at(1000));
  EXPECT_EQ(past(cluster), 0);
  EXPECT_EQ(standing().watched_until, cluster.state.now);
  come_back(seconds(100));
  EXPECT_EQ(standing().unwatched.front().from, at(10'000)) << "nothing was missed before";
}

TEST_F(UnwatchedUse, MoreThanAnAmountHoldsIsTheMostOfIt) {
  come_back(seconds(30 * 86'400));
  ForeignUse most = use("7", 0, 30 * 86'400);
  most.cores = 1 << 24;
  most.gpus_milli = 1 << 30;
  find(std::vector<ForeignUse>(20, most));
  EXPECT_GT(past(cluster), 4e18);
  EXPECT_GT(month(cluster), std::int64_t{1} << 61);
}

TEST_F(UnwatchedUse, WhatNobodyWasChargedForIsNotKeptToBeGivenBack) {
  ForeignAllocation allocation;
  allocation.id = "7";
  allocation.account = "guests";
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), std::move(allocation)});
  come_back(seconds(10'000));
  end(cluster, "7");
  EXPECT_TRUE(cluster.node(1).executors.at(0).foreign.empty());
  EXPECT_TRUE(standing().unwatched.front().ended.empty());
}

TEST_F(UnwatchedUse, AnAccountWithoutAQueueIsNobodysUse) {
  come_back(seconds(10'000));
  ForeignUse other = use("7", 1000, 4000);
  other.account = "guests";
  find({other});
  EXPECT_EQ(past(cluster), 0);
}

// The accounting says in which second a job ended: in both times it would count twice.
TEST_F(UnwatchedUse, TheSecondInWhichOneEndsIsNotPartOfTheNext) {
  come_back(Span{60'500'000});
  const Instant back = cluster.state.now;
  find({});
  cluster.pass(Span{100'000});
  observe(cluster, "7");
  cluster.pass(seconds(30));
  cluster.tell(ForeignWatchResumed{"slurm", standing().watched_until});
  const Instant from = standing().unwatched.back().from;
  EXPECT_EQ(from.us % 1'000'000, 0);
  EXPECT_GT(from, back);
  EXPECT_LT(from, back + seconds(1));
}

TEST_F(UnwatchedUse, AnAbsenceThatIsNotedBeganShortlyBefore) {
  cluster.pass(seconds(10'000));
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kSilent, ""});
  EXPECT_EQ(standing().watched_until, cluster.state.now + Span{-kAbsenceNoted.us});
  cluster.pass(seconds(10'000));
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kMute, ""});
  EXPECT_EQ(standing().watched_until, at(10'000) + Span{-kAbsenceNoted.us});
}

// By the log the contact is still what it was when the controller before went away.
TEST_F(UnwatchedUse, AControllerThatHasNotHeardOfItYetKnowsNothing) {
  cluster.pass(seconds(100));
  observe(cluster, "6");
  begin_batch(cluster.state, at(10'000), Epoch{cluster.state.epoch.value + 1});
  observe(cluster, "7");  // in a report that is not complete
  EXPECT_EQ(standing().watched_until, at(100));
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kMute, ""});
  EXPECT_EQ(standing().watched_until, at(100));
  come_back(seconds(10));
  EXPECT_EQ(standing().unwatched.front().from, at(100));
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  cluster.pass(seconds(10));
  end(cluster, "7");
  EXPECT_EQ(standing().watched_until, cluster.state.now);
}

TEST_F(UnwatchedUse, TimesThatNobodySettlesAreBounded) {
  for (std::size_t i = 0; i < kUnwatchedMax + 3; ++i) come_back(seconds(100));
  EXPECT_EQ(standing().unwatched.size(), kUnwatchedMax);
  EXPECT_EQ(standing().unwatched.back().to, cluster.state.now);
}

}  // namespace
}  // namespace dove::core
