#include "core/state/running/sessions.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

class SessionsTest : public testing::Test {
 protected:
  SessionsTest() {
    IdleRule rule;
    rule.name = "all";
    rule.no_input_for = seconds(3600);
    cluster.declare(rule);
  }
  void warn(IdleCheck check = IdleCheck::kInput, std::int64_t warning_s = 600) {
    cluster.tell(IdleObserved{job, 1, check, "all", "no input for 1 h", seconds(warning_s)});
  }
  Span left() const { return idle_stop_at(cluster.state, cluster.job(job)) - cluster.state.now; }
  bool is_warned() const { return cluster.state.idle.contains(job); }

  TestCluster cluster{1};
  JobId job = cluster.submit_and_start();
};

TEST_F(SessionsTest, AnIdleJobIsStoppedWhenItsWarningIsOver) {
  EXPECT_EQ(idle_stop_at(cluster.state, cluster.job(job)), kNever);
  warn();
  EXPECT_EQ(left(), seconds(600));
  cluster.pass(seconds(100));
  warn();
  EXPECT_EQ(left(), seconds(500)) << "told twice";
  cluster.tell(IdleEnded{job, 1});
  EXPECT_EQ(idle_stop_at(cluster.state, cluster.job(job)), kNever);
}

TEST_F(SessionsTest, WhoeverKeepsItEndsTheWarningButNotALifetime) {
  warn();
  cluster.tell(JobKept{job, cluster.state.now + seconds(60)});
  EXPECT_FALSE(is_warned());
  EXPECT_EQ(cluster.state.kept.at(job), cluster.state.now + seconds(60));
  warn(IdleCheck::kLifetime);
  cluster.tell(JobKept{job, cluster.state.now + seconds(90)});
  EXPECT_TRUE(is_warned());
}

TEST_F(SessionsTest, ARestartGivesAsLongAgainAndNoMore) {
  warn();
  cluster.pass(seconds(550));
  cluster.tell(ControllerStarted{});
  EXPECT_EQ(left(), seconds(600));
  cluster.tell(ControllerStarted{});
  EXPECT_EQ(left(), seconds(600));
  warn(IdleCheck::kLifetime, 100);
  cluster.pass(seconds(60));
  cluster.tell(ControllerStarted{});
  EXPECT_EQ(left(), seconds(40)) << "a lifetime ends when it was said";
}

TEST_F(SessionsTest, WhatItEndedForIsKeptUntilItIsForgotten) {
  warn();
  cluster.decided(Stop{job, 1, StopReason::kIdle});
  cluster.leave(job, 1);
  cluster.decided(EndJob{job, Outcome::kStoppedIdle, 1});
  EXPECT_TRUE(is_warned());
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
  cluster.decided(ForgetJob{job});
  EXPECT_FALSE(is_warned());
}

class EndedSession : public SessionsTest {
 protected:
  // Ended for being idle, and run again.
  void run_again() {
    warn();
    cluster.decided(Stop{job, 1, StopReason::kIdle});
    cluster.leave(job, 1);
    cluster.decided(EndJob{job, Outcome::kStoppedIdle, 1});
    cluster.tell(JobRequeueRequested{job});
    cluster.launch(job);
    cluster.start(job);
    cluster.pass(seconds(601));
  }
  void warn_again() {
    cluster.tell(IdleObserved{job, 2, IdleCheck::kInput, "all", "no input for 1 h", seconds(600)});
  }
};

TEST_F(EndedSession, ThatRunsAgainIsNotIdleYet) {
  cluster.tell(LevelRaised{kNewestLevel});
  run_again();
  EXPECT_FALSE(is_warned());
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
  warn_again();
  EXPECT_EQ(left(), seconds(600));
}

TEST_F(EndedSession, IsNotStoppedByAWarningThatAnOlderProgramKept) {
  ASSERT_EQ(cluster.state.level, kFirstLevel);
  run_again();
  EXPECT_EQ(idle_stop_at(cluster.state, cluster.job(job)), kNever);
  cluster.tell(LevelRaised{kNewestLevel});
  warn_again();
  EXPECT_EQ(left(), seconds(600));
}

TEST_F(SessionsTest, AJobThatEndsForSomethingElseIsNoLongerIdle) {
  warn();
  cluster.end(job);
  EXPECT_FALSE(is_warned());
}

}  // namespace
}  // namespace dove::core
