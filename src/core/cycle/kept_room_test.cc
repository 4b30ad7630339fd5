#include "core/cycle/kept_room.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/cycle/decide_fixture.h"
#include "core/state/executors/placeholders.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// Two nodes of two GPUs. A Slurm shares the first. A job that may be preempted has all of each, and
// the first of them makes room for one of higher priority.
class KeptRoom : public testing::Test {
 protected:
  KeptRoom() {
    cluster.declare(Executor{"slurm", "", {"n1"}, true, {}});
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
    elsewhere = cluster.submit_and_start({.gpus = 2, .preempt = Preempt::kRestart}, {2});
    cluster.pass(seconds(1));
    low = cluster.submit({.gpus = 2, .preempt = Preempt::kRestart});
    EXPECT_EQ(launched(cluster), std::vector<JobId>{low});
    answer(low, PlaceholderStage::kConfirmed);
    cluster.start(low);
    high = cluster.submit({.gpus = 2, .priority = 5});
    EXPECT_EQ(stopped(), std::vector<JobId>{low}) << "it has lost less";
    cluster.pass(seconds(5));
    cluster.leave(low);
    EXPECT_EQ(launched(cluster), std::vector<JobId>{high});
  }
  ~KeptRoom() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  void answer(JobId job, PlaceholderStage stage) {
    const AttemptNumber number = cluster.job(job).attempts.back().number;
    cluster.tell(PlaceholderMoved{"slurm", job, number, node_of(job), stage, "1300", "busy", {}});
  }
  std::vector<JobId> stopped() {
    std::vector<JobId> jobs;
    for (const Stop& stop : decide_for<Stop>(cluster)) jobs.push_back(stop.job);
    return jobs;
  }
  // Nothing of it has run, so our agent says at once that it has left.
  void refuse(JobId job) {
    answer(job, PlaceholderStage::kRefused);
    EXPECT_EQ(stopped(), std::vector<JobId>{job});
    cluster.leave(job);
  }
  void share_both_nodes() { cluster.declare(Executor{"slurm", "", {"n[1-2]"}, true, {}}); }
  NodeId node_of(JobId job) const {
    return cluster.job(job).attempts.back().placements.at(0).placement->node;
  }

  TestCluster cluster{2, {.gpus = 2}};
  JobId elsewhere, low, high;
};

TEST_F(KeptRoom, WhoeverWasStoppedDoesNotGetItsPlaceBackBeforeTheRefusedJobIsTriedAgain) {
  for (const std::int64_t pause_s : {1, 2, 4}) {
    refuse(high);
    EXPECT_TRUE(launched(cluster).empty()) << "the room is kept";
    cluster.pass(Span{seconds(pause_s).us - 1});
    EXPECT_TRUE(decide(cluster.state, plain_policies()).empty()) << "and nobody else is stopped";
    cluster.pass(Span{1});
    EXPECT_EQ(launched(cluster), std::vector<JobId>{high});
    EXPECT_EQ(node_of(high), NodeId(1)) << "the same node";
  }
  answer(high, PlaceholderStage::kConfirmed);
  cluster.start(high);
  EXPECT_TRUE(stopped().empty());
  EXPECT_EQ(cluster.job(low).phase, JobPhase::kWaiting);
}

// Meanwhile the place was promised to whoever was stopped, for the time when it is free at the
// latest.
TEST_F(KeptRoom, ItIsKeptAlsoWhereTheRefusedJobTakesItsTimeToLeave) {
  answer(high, PlaceholderStage::kRefused);
  EXPECT_EQ(stopped(), std::vector<JobId>{high});
  ASSERT_TRUE(cluster.state.promises.contains(low));
  cluster.pass(seconds(40));
  cluster.leave(high);
  EXPECT_TRUE(launched(cluster).empty());
  cluster.pass(seconds(1));
  EXPECT_EQ(launched(cluster), std::vector<JobId>{high});
}

// It counts on what the refused job is about to leave, and has others stopped for the rest.
TEST_F(KeptRoom, NotWhereAnotherJobHasItForWhichOthersWereStoppedMeanwhile) {
  cluster.tell(JobHeld{low});  // or it would be promised its place again
  answer(high, PlaceholderStage::kRefused);
  EXPECT_EQ(stopped(), std::vector<JobId>{high});
  const JobId top = cluster.submit({.gpus = 2, .tasks = 2, .priority = 9});
  EXPECT_EQ(stopped(), std::vector<JobId>{elsewhere});
  ASSERT_TRUE(cluster.state.promises.contains(top));
  cluster.pass(seconds(5));
  cluster.leave(high);
  EXPECT_TRUE(launched(cluster).empty());
  EXPECT_TRUE(cluster.state.promises.contains(top));
  EXPECT_FALSE(cluster.state.promises.contains(high));
  cluster.leave(elsewhere);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{top});
}

TEST_F(KeptRoom, EachOfSeveralThatAreRefusedAtOnceKeepsItsOwn) {
  share_both_nodes();
  cluster.pass(seconds(5));
  const JobId other = cluster.submit({.gpus = 2, .priority = 5});
  EXPECT_EQ(stopped(), std::vector<JobId>{elsewhere});
  cluster.leave(elsewhere);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{other});
  for (const JobId job : {high, other}) answer(job, PlaceholderStage::kRefused);
  EXPECT_EQ(stopped(), (std::vector<JobId>{high, other}));
  for (const JobId job : {high, other}) cluster.leave(job);
  EXPECT_TRUE(launched(cluster).empty());
  cluster.pass(seconds(1));
  EXPECT_EQ(launched(cluster), (std::vector<JobId>{high, other}));
  EXPECT_EQ(node_of(high), NodeId(1));
  EXPECT_EQ(node_of(other), NodeId(2));
}

TEST_F(KeptRoom, AfterSomeRefusalsItIsAnybodys) {
  for (int i = 0; i < kRefusals_waited_for; ++i) {
    refuse(high);
    decide(cluster.state, plain_policies());
    cluster.pass(placeholder_backoff(cluster.job(high)));
    EXPECT_EQ(launched(cluster), std::vector<JobId>{high});
  }
  refuse(high);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{low});
}

TEST_F(KeptRoom, WithoutAnAnswerItIsAnybodys) {
  cluster.tell(PlacementPrepared{high, 1, NodeId(1)});
  cluster.pass(cluster.state.settings.effect_deadline);
  EXPECT_EQ(stopped(), std::vector<JobId>{high});
  cluster.leave(high);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{low});
}

TEST_F(KeptRoom, AJobThatTheExecutorRunsThereTakesIt) {
  refuse(high);
  decide(cluster.state, plain_policies());
  EXPECT_TRUE(cluster.state.promises.contains(high));
  ForeignAllocation theirs;
  theirs.id = "7";
  theirs.devices = {0};
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), theirs});
  decide(cluster.state, plain_policies());
  EXPECT_FALSE(cluster.state.promises.contains(high));
}

TEST_F(KeptRoom, NotWhereItTookAnotherPlaceSince) {
  share_both_nodes();
  refuse(high);
  decide(cluster.state, plain_policies());
  ForeignAllocation theirs;
  theirs.id = "7";
  theirs.devices = {0, 1};
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), theirs});
  decide(cluster.state, plain_policies());
  cluster.pass(seconds(1));
  cluster.end(elsewhere);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{high});
  ASSERT_EQ(node_of(high), NodeId(2));
  refuse(high);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{low}) << "nobody was stopped there";
}

TEST_F(KeptRoom, NotForAJobThatIsCancelledOrHeldMeanwhile) {
  refuse(high);
  decide(cluster.state, plain_policies());
  cluster.tell(JobHeld{high});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{low});
}

TEST_F(KeptRoom, OneForWhichNobodyWasStoppedLooksElsewhere) {
  answer(high, PlaceholderStage::kConfirmed);
  cluster.start(high);
  cluster.pass(seconds(5));
  cluster.end(high);
  cluster.decided(EndJob{low, Outcome::kCancelled});
  const JobId next = cluster.submit({.gpus = 2});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{next});
  refuse(next);
  const JobId other = cluster.submit({.gpus = 2});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{other});
}

}  // namespace
}  // namespace dove::core
