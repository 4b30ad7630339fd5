#include "core/place/reservation.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ReservationTest : public testing::Test {
 protected:
  Reservation reserve(std::int64_t from_s, std::int64_t to_s, bool outage = false) {
    Reservation made;
    made.name = "r";
    made.nodes = {"n1"};
    made.starts_at = cluster.state.now + seconds(from_s);
    made.ends_at = cluster.state.now + seconds(to_s);
    made.outage = outage;
    made.users = {"ann"};
    cluster.declare(made);
    return made;
  }

  TestCluster cluster{2};
};

TEST_F(ReservationTest, AdmitsThoseWhomItLists) {
  const Reservation made = reserve(100, 200);
  EXPECT_TRUE(admits(made, {spec_of({})}));
  EXPECT_FALSE(admits(made, {spec_of({.user = "bob"})}));
  Reservation outage = made;
  outage.outage = true;
  EXPECT_FALSE(admits(outage, {spec_of({})}));
}

TEST_F(ReservationTest, IsAWindowOfItsNodesUntilItIsOver) {
  reserve(100, 200);
  EXPECT_EQ(windows_of(cluster.state, cluster.node(1)).size(), 1u);
  EXPECT_TRUE(windows_of(cluster.state, cluster.node(2)).empty());
  EXPECT_EQ(next_boundary(cluster.state), cluster.state.now + seconds(100));
  cluster.pass(seconds(200));
  EXPECT_FALSE(reserves(cluster.state));
  EXPECT_EQ(next_boundary(cluster.state), kNever);
}

TEST_F(ReservationTest, OthersMustBeGoneBeforeItBegins) {
  reserve(1000, 2000);
  const auto windows = windows_of(cluster.state, cluster.node(1));
  const JobSpec bob = spec_of({.user = "bob"});
  const Instant now = cluster.state.now;
  EXPECT_TRUE(is_open(cluster.state, {bob}, windows, now, now + seconds(900)));
  EXPECT_FALSE(is_open(cluster.state, {bob}, windows, now, now + seconds(1100)));
  EXPECT_TRUE(is_open(cluster.state, {spec_of({})}, windows, now, now + seconds(1100)));
}

TEST_F(ReservationTest, AStayIsNoLongerThanItsLimitWithAllThatEndingTakes) {
  const JobSpec spec = spec_of({.limit_s = 100});
  const Span longest = stay_of(cluster.state, spec).longest;
  // Two orders of a minute each, the limit, 30 s of grace and 2 s until that is told.
  EXPECT_EQ(longest, seconds(60 + 60 + 100 + 30 + 2));
  EXPECT_EQ(stay_of(cluster.state, spec_of({})).end(cluster.state.now), kNever);
}

TEST_F(ReservationTest, AJobIsStoppedAtItsTimeLimit) {
  const JobId job = cluster.submit_and_start({.limit_s = 100});
  EXPECT_EQ(time_limit_at(cluster.state, cluster.job(job)), cluster.state.now + seconds(100));
  EXPECT_EQ(places_free_at(cluster.state, cluster.job(job)), cluster.state.now + seconds(132));
}

TEST_F(ReservationTest, AnOutageStopsWhatRunsOnItsNodesInTime) {
  const JobId job = cluster.submit_and_start();
  EXPECT_EQ(outage_stop_at(cluster.state, cluster.job(job)), kNever);
  reserve(1000, 2000, /*outage=*/true);
  EXPECT_EQ(outage_stop_at(cluster.state, cluster.job(job)),
            cluster.state.now + seconds(1000 - 32));
}

TEST_F(ReservationTest, ADeadlineIsMissedWhenTheLimitNoLongerFits) {
  JobSpec spec = spec_of({.limit_s = 100});
  spec.deadline = cluster.state.now + seconds(300);
  EXPECT_EQ(latest_start(cluster.state, spec), cluster.state.now + seconds(200));
  EXPECT_EQ(missed_at(cluster.state, cluster.job(cluster.submit(spec))),
            cluster.state.now + seconds(200) + Span{1});
}

TEST_F(ReservationTest, AJobThatNamesAnUnknownOneIsToldSo) {
  JobSpec spec = spec_of({});
  spec.reservation = "none such";
  const auto why = reservation_obstacles(cluster.state, spec);
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].kind, ReasonKind::kReservation);
}

TEST_F(ReservationTest, WhatAPreemptedJobHasSavedCountsForItsDeadline) {
  JobSpec spec = spec_of({.limit_s = 6000, .preempt = Preempt::kCheckpoint});
  spec.deadline = cluster.state.now + seconds(7000);
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  cluster.start(job);
  cluster.pass(seconds(2000));
  cluster.decided(Stop{job, 1, StopReason::kPreempted, Purpose::kStarvation, {}});
  cluster.leave(job);
  cluster.decided(Requeue{job, StopReason::kPreempted});
  EXPECT_GT(missed_at(cluster.state, cluster.job(job)) + seconds(4100), spec.deadline)
      << "4000 s are left to do";
}

TEST_F(ReservationTest, TheNextAttemptHasWhatWasLeftOfTheLimit) {
  const JobId job = cluster.submit_and_start({.limit_s = 7200, .preempt = Preempt::kCheckpoint});
  EXPECT_EQ(limit_of_attempt(cluster.state, cluster.job(job)), seconds(7200));
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    cluster.pass(seconds(3000));
    EXPECT_LE(limit_of_attempt(cluster.state, cluster.job(job)), seconds(7200));
    cluster.decided(Stop{job, attempt, StopReason::kPreempted, Purpose::kStarvation, {}});
    cluster.leave(job);
    cluster.decided(Requeue{job, StopReason::kPreempted});
    cluster.launch(job);
    cluster.start(job);
    const Instant started = cluster.job(job).attempts.back().started_at;
    const Span left = limit_of_attempt(cluster.state, cluster.job(job));
    EXPECT_EQ(left, attempt == 3 ? Span{1} : seconds(7200 - 3000 * attempt));
    EXPECT_LE(time_limit_at(cluster.state, cluster.job(job)), started + left);
  }
  const JobId endless = cluster.submit_and_start({.preempt = Preempt::kCheckpoint});
  EXPECT_EQ(limit_of_attempt(cluster.state, cluster.job(endless)), Span{});
}

TEST_F(ReservationTest, AJobWithASignalToSaveIsStoppedInTimeForIt) {
  JobSpec spec = spec_of({});
  spec.checkpoint_signal = 10;
  spec.checkpoint_grace = seconds(90);
  spec.kill_grace = seconds(30);
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  cluster.start(job);
  Reservation outage;
  outage.name = "outage";
  outage.nodes = {"*"};
  outage.starts_at = cluster.state.now + seconds(1000);
  outage.ends_at = outage.starts_at + seconds(1000);
  outage.outage = true;
  cluster.declare(outage);
  EXPECT_LE(outage_stop_at(cluster.state, cluster.job(job)) + seconds(120), outage.starts_at);
}

}  // namespace
}  // namespace dove::core
