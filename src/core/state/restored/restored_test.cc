#include "core/state/restored/restored.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/hash.h"
#include "core/state/invariants.h"
#include "model/incarnation.h"

namespace dove::core {
namespace {

// A cluster at 1000 s, of whose log the rest is lost, and which is restored at 5000 s.
class Restored : public testing::Test {
 protected:
  static constexpr std::int64_t kRestored_s = 5000;

  void restore(std::int64_t now_s = kRestored_s) {
    const Epoch term{restored_term(cluster.state.epoch, now_s).value + 1};
    begin_batch(cluster.state, cluster.state.now, term);
    cluster.tell(ClusterRestored{cluster.state.incarnation + 1, "test"});
    begin_batch(cluster.state, Instant{now_s * 1'000'000} + seconds(10), term);
    cluster.tell(ControllerStarted{"test", ""});
  }
  void connect(std::uint32_t number) { cluster.tell(NodeConnected{NodeId(number), "boot"}); }
  void expect_whole() {
    const auto broken = find_broken_invariant(cluster.state);
    EXPECT_FALSE(broken.has_value()) << broken.value_or("");
  }

  TestCluster cluster{2};
};

TEST_F(Restored, NumbersAreNotGivenAgain) {
  const JobId job = cluster.submit_and_start();
  cluster.pass(seconds(100));
  restore();
  // 1100 s to 5000 s: a thousand a second, and a million beside.
  EXPECT_EQ(cluster.state.next_job, 4'901'001u);
  EXPECT_EQ(next_attempt(cluster.state, cluster.job(job)), 4100u);
  const JobId later = cluster.submit();
  EXPECT_EQ(next_attempt(cluster.state, cluster.job(later)), 1u);
  EXPECT_EQ(cluster.state.restored_at, Instant{kRestored_s * 1'000'000});
  EXPECT_EQ(cluster.state.incarnation, 1);
}

TEST_F(Restored, OneBackupRestoredTwiceGivesOtherNumbers) {
  cluster.submit();
  TestCluster again = cluster;
  restore();
  for (int i = 0; i < 1000; ++i) cluster.submit();
  std::swap(cluster, again);
  restore(kRestored_s + 60);
  EXPECT_GE(cluster.state.next_job, again.state.next_job);
  EXPECT_LT(again.state.epoch, cluster.state.epoch);
}

TEST_F(Restored, JobsOfBeforeWaitForAllNodesAndAGrace) {
  const JobId old = cluster.submit();
  restore();
  const JobId later = cluster.submit();
  EXPECT_EQ(cluster.job(old).not_before, kNever);
  EXPECT_TRUE(awaits_nodes_until(cluster.state, cluster.job(old)).has_value());
  EXPECT_EQ(cluster.job(later).not_before, Instant{}) << "what came later waits for nobody";
  connect(1);
  EXPECT_EQ(cluster.job(old).not_before, kNever);
  connect(2);
  const ClusterSettings& settings = cluster.state.settings;
  const Instant from = cluster.state.now + settings.disconnect_grace + settings.fence;
  EXPECT_EQ(cluster.job(old).not_before, from);
  cluster.pass(from - cluster.state.now);
  EXPECT_FALSE(awaits_nodes_until(cluster.state, cluster.job(old)).has_value());
}

TEST_F(Restored, ANodeThatIsLostIsNotWaitedFor) {
  const JobId old = cluster.submit();
  restore();
  connect(1);
  cluster.tell(NodeDeclaredOff{NodeId(2), ""});
  EXPECT_NE(cluster.job(old).not_before, kNever);
}

TEST_F(Restored, AWaitingJobGoesOnWithAnAttemptThatTheLogDoesNotKnow) {
  const JobId job = cluster.submit({.limit_s = 9000});
  restore();
  cluster.tell(UnknownTaskObserved{NodeId(2), job, 1});
  cluster.tell(PlacementStarted{job, 1, NodeId(2), seconds(500)});
  connect(2);
  EXPECT_EQ(cluster.job(job).phase, JobPhase::kActive);
  const Attempt& attempt = cluster.job(job).attempts.back();
  EXPECT_EQ(attempt.number, 1u);
  EXPECT_EQ(attempt.stage, Stage::kRunning);
  EXPECT_EQ(attempt.started_at, cluster.state.now + Span{-500'000'000}) << "its limit is exact";
  EXPECT_TRUE(is_adopted(attempt.placements.front().placement));
  EXPECT_EQ(attempt.placements.front().placement->tasks.size(), 1u);
  expect_whole();
  cluster.leave(job);
  cluster.decided(EndJob{job, Outcome::kCompleted, 0});
  EXPECT_EQ(cluster.job(job).phase, JobPhase::kEnded);
  expect_whole();
}

TEST_F(Restored, ALaterAttemptProvesThatTheOneBeforeHasEnded) {
  const JobId job = cluster.submit_and_start({}, {1});
  restore();
  cluster.tell(UnknownTaskObserved{NodeId(2), job, 3});
  ASSERT_EQ(cluster.job(job).attempts.size(), 2u);
  EXPECT_EQ(cluster.job(job).attempts.front().stage, Stage::kEnded);
  EXPECT_EQ(cluster.job(job).attempts.back().number, 3u);
  EXPECT_TRUE(cluster.node(1).jobs.empty());
  expect_whole();
  EXPECT_GT(next_attempt(cluster.state, cluster.job(job)), 3u);
}

// One node's word must not end what runs on another.
TEST_F(Restored, OnlyWhatANodeSaysFirstIsAdopted) {
  const JobId job = cluster.submit_and_start({}, {1});
  restore();
  const AttemptNumber beyond = next_attempt(cluster.state, cluster.job(job));
  EXPECT_TRUE(adopts(cluster.state, {NodeId(2), job, beyond - 1}));
  EXPECT_FALSE(adopts(cluster.state, {NodeId(2), job, beyond})) << "no controller gave it";
  connect(2);
  EXPECT_FALSE(adopts(cluster.state, {NodeId(2), job, 2}));
  EXPECT_EQ(cluster.job(job).attempts.size(), 1u);
}

TEST_F(Restored, NodesOfAGangComeOneByOne) {
  const JobId job = cluster.submit({.tasks = 2});
  restore();
  for (const std::uint32_t number : {1u, 2u}) {
    cluster.tell(UnknownTaskObserved{NodeId(number), job, 1});
    cluster.tell(PlacementStarted{job, 1, NodeId(number)});
  }
  ASSERT_EQ(cluster.job(job).attempts.size(), 1u);
  EXPECT_EQ(cluster.job(job).attempts.back().placements.size(), 2u);
  EXPECT_EQ(cluster.job(job).attempts.back().stage, Stage::kRunning);
  expect_whole();
}

TEST_F(Restored, WhatIsNotOfBeforeIsNotAdopted) {
  const JobId active = cluster.submit_and_start({}, {1});
  const JobId ended = cluster.submit_and_start({}, {1});
  cluster.end(ended);
  const std::uint64_t before = state_hash(cluster.state);
  const JobId old = cluster.submit();
  EXPECT_FALSE(adopts(cluster.state, {NodeId(2), old, 1})) << "it was never restored";
  cluster.decided(EndJob{old, Outcome::kCancelled, 0});
  restore();
  const JobId later = cluster.submit();
  EXPECT_FALSE(adopts(cluster.state, {NodeId(2), later, 1})) << "it came after the restore";
  EXPECT_FALSE(adopts(cluster.state, {NodeId(2), active, 1})) << "the log has it elsewhere";
  EXPECT_FALSE(adopts(cluster.state, {NodeId(2), ended, 5})) << "it has ended";
  EXPECT_FALSE(adopts(cluster.state, {NodeId(2), JobId(77), 1})) << "nobody knows it";
  EXPECT_FALSE(adopts(cluster.state, {NodeId(9), active, 2}));
  EXPECT_NE(state_hash(cluster.state), before);
}

}  // namespace
}  // namespace dove::core
