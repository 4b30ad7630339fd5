// What jobs say about links: which of it reaches the log.
#include "backends/native/boards/link_blames.h"

#include <gtest/gtest.h>

namespace dove::backends {
namespace {

// Job 1 runs its attempt 2 on nodes 1 to `nodes`, with two ranks on each.
core::State state_of(std::uint32_t nodes) {
  core::State state;
  core::Job job;
  job.id = JobId(1);
  job.spec = std::make_shared<JobSpec>();
  job.phase = JobPhase::kActive;
  core::Attempt attempt;
  attempt.number = 2;
  for (std::uint32_t i = 1; i <= nodes; ++i) {
    core::Node node;
    node.id = NodeId(i);
    node.name = "n" + std::to_string(i);
    state.nodes.push_back(std::move(node));
    Placement placement;
    placement.node = NodeId(i);
    placement.tasks.resize(2);
    placement.tasks[0].rank = static_cast<Rank>(2 * i - 2);
    placement.tasks[1].rank = static_cast<Rank>(2 * i - 1);
    attempt.placements.push_back({placement});
  }
  job.attempts.push_back(std::move(attempt));
  state.jobs.try_emplace(JobId(1), std::move(job));
  return state;
}

protocol::Progress said(AttemptNumber attempt, Rank rank, std::vector<Rank> blamed) {
  protocol::Progress progress{protocol::AttemptKey{JobId(1), attempt}, {}};
  protocol::RankProgress& one = progress.ranks.emplace_back();
  one.rank = rank;
  one.blamed = std::move(blamed);
  return progress;
}

TEST(LinkBlames, BecomeOneEventForEachPairOfNodesInAnAttempt) {
  const core::State state = state_of(3);
  LinkBlames blames;
  const std::vector<Event> events = blames.take(state, NodeId(1), said(2, 1, {2, 3, 4}));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0], Event(LinkBlamed{JobId(1), 2, NodeId(1), NodeId(2), 1, 2}));
  EXPECT_EQ(events[1], Event(LinkBlamed{JobId(1), 2, NodeId(1), NodeId(3), 1, 4}));
  EXPECT_TRUE(blames.take(state, NodeId(1), said(2, 0, {2, 3, 4})).empty());
  EXPECT_EQ(blames.take(state, NodeId(2), said(2, 2, {0})).size(), 1u);
  blames.decided(Requeue{JobId(1), StopReason::kTaskFailed, true, false});
  EXPECT_EQ(blames.take(state, NodeId(2), said(2, 2, {0})).size(), 1u);
}

TEST(LinkBlames, AreOnlyHeardFromTheAttemptsOwnRanksAboutItsOtherNodes) {
  const core::State state = state_of(2);
  LinkBlames blames;
  EXPECT_TRUE(blames.take(state, NodeId(1), said(2, 0, {1})).empty());   // on the same node
  EXPECT_TRUE(blames.take(state, NodeId(1), said(2, 0, {99})).empty());  // no such rank
  EXPECT_TRUE(blames.take(state, NodeId(1), said(2, 3, {2})).empty());   // it is elsewhere
  EXPECT_TRUE(blames.take(state, NodeId(1), said(1, 0, {2})).empty());   // a former attempt
  EXPECT_TRUE(blames.take(state, NodeId(7), said(2, 0, {2})).empty());   // not of this node
}

TEST(LinkBlames, AreBoundedAndCanBeSwitchedOff) {
  core::State state = state_of(80);
  LinkBlames blames;
  std::size_t heard = 0;
  for (Rank rank = 2; rank < 160; rank += 2) {
    heard += blames.take(state, NodeId(1), said(2, 0, {rank})).size();
  }
  EXPECT_EQ(heard, LinkBlames::kBlames_max);
  state.settings.job_link_votes = false;
  EXPECT_TRUE(LinkBlames().take(state, NodeId(1), said(2, 0, {2})).empty());
}

}  // namespace
}  // namespace dove::backends
