#include "notices/notice.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/state/cluster_fixture.h"

namespace dove::notices {
namespace {

using core::TestCluster;
using About = NoticeAbout;

constexpr Instant kAt{5'000'000'000};
constexpr Span kSoon = seconds(900);

class Notices : public testing::Test {
 protected:
  Notices() : cluster(2) {}

  void choose(const std::string& user, std::vector<About> about) {
    UserDeclaration declared;
    declared.name = user;
    declared.notices = {{NoticeBy::kMail, user + "@example.org", std::move(about)}};
    cluster.declare(declared);
  }
  std::vector<Notice> of(Event event, std::uint64_t seq = 70) {
    const StampedEvent stamped{std::move(event), {}};
    core::apply(cluster.state, stamped);
    return notices_of(cluster.state, Seq(seq), kAt, stamped);
  }
  std::vector<Notice> of(const Decision& decision, std::uint64_t seq = 70) {
    core::apply(cluster.state, decision);
    return notices_of(cluster.state, Seq(seq), kAt, decision);
  }

  TestCluster cluster;
};

TEST_F(Notices, OnlyWhoChoseIsTold) {
  choose("ann", {About::kJobEnded});
  choose("bob", {About::kJobStarted});
  choose("cy", {About::kJobEnded});
  UserDeclaration cy = cluster.state.users.at("cy");
  cy.disabled = true;
  cluster.declare(cy);
  for (const auto& [user, expected] :
       {std::pair{"ann", 1u}, {"bob", 0u}, {"cy", 0u}, {"dan", 0u}}) {
    const JobId job = cluster.submit_and_start({.user = user});
    cluster.leave(job);
    EXPECT_EQ(of(EndJob{job, Outcome::kCompleted, 0}).size(), expected) << user;
  }
}

TEST_F(Notices, AGangStartsOnce) {
  choose("ann", {About::kJobStarted});
  const JobId job = cluster.submit({.tasks = 2});
  cluster.launch(job, {1, 2});
  cluster.decided(Start{job, 1});
  const std::vector<Notice> first = of(PlacementStarted{job, 1, NodeId(1)});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].about, About::kJobStarted);
  EXPECT_EQ(first[0].user, "ann");
  EXPECT_EQ(first[0].why, "it runs on n1 and 1 more nodes");
  EXPECT_TRUE(of(PlacementStarted{job, 1, NodeId(2)}).empty());
  // A record that is repeated says the same.
  EXPECT_EQ(of(PlacementStarted{job, 1, NodeId(1)}, 99).at(0).key, first[0].key);
}

TEST_F(Notices, FailuresAreToldToThoseWhoWantEndsOrFailures) {
  choose("ann", {About::kJobFailed});
  choose("bob", {About::kJobEnded});
  for (const auto& [outcome, is_failure] : {std::pair{Outcome::kCompleted, false},
                                            {Outcome::kFailed, true},
                                            {Outcome::kTimedOut, true},
                                            {Outcome::kNodeLost, true},
                                            {Outcome::kDependencyNeverMet, true},
                                            {Outcome::kDeadlineMissed, true},
                                            {Outcome::kCancelled, false},
                                            {Outcome::kStoppedIdle, false}}) {
    const JobId anns = cluster.submit_and_start({.user = "ann"});
    cluster.leave(anns);
    EXPECT_EQ(of(EndJob{anns, outcome, 3}).size(), is_failure ? 1u : 0u);
    const JobId bobs = cluster.submit_and_start({.user = "bob"});
    cluster.leave(bobs);
    const std::vector<Notice> told = of(EndJob{bobs, outcome, 3});
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].about, is_failure ? About::kJobFailed : About::kJobEnded);
    EXPECT_EQ(told[0].exit_code, 3);
    EXPECT_TRUE(wants({NoticeBy::kMail, "", {About::kJobEnded}}, told[0]));
    EXPECT_EQ(wants({NoticeBy::kMail, "", {About::kJobFailed}}, told[0]), is_failure);
  }
}

TEST_F(Notices, APreemptionSaysForWhom) {
  choose("ann", {About::kJobStopsSoon});
  const JobId job = cluster.submit_and_start();
  const auto told = of(Stop{job, 1, StopReason::kPreempted, Purpose::kFairness, JobId(9)});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].why, "job 9 gets its place");
  EXPECT_EQ(told[0].then.us, 0);
  const JobId other = cluster.submit_and_start({}, {2});
  EXPECT_TRUE(of(Stop{other, 1, StopReason::kCancelled}).empty());
}

TEST_F(Notices, ADrainWithAnEndTellsEverybodyThere) {
  choose("ann", {About::kJobStopsSoon});
  choose("bob", {About::kJobStopsSoon});
  const JobId anns = cluster.submit_and_start({.user = "ann"});
  cluster.submit_and_start({.user = "bob"}, {2});
  NodeActionRequested drain{NodeId(1), NodeAction::kDrain, false, Instant{}, "new fans"};
  EXPECT_TRUE(of(drain).empty());  // what runs may end by itself
  drain.by = kAt + seconds(3600);
  const auto told = of(drain);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].job, anns);
  EXPECT_EQ(told[0].then, drain.by);
  EXPECT_EQ(told[0].why, "node n1 is taken out of service: new fans");
}

TEST_F(Notices, AdministratorsHearOfSickNodes) {
  choose("ann", {About::kNodeSick});
  choose("root", {About::kNodeSick});
  Binding binding;
  binding.name = "admins";
  binding.role = Role::kAdmin;
  binding.users = {"root"};
  cluster.declare(binding);
  Finding finding{"xid", Severity::kWarning, Remedy::kNone, 3, "Xid 79"};
  EXPECT_TRUE(of(FindingReported{NodeId(1), finding}).empty());
  finding.severity = Severity::kFault;
  const auto told = of(FindingReported{NodeId(1), finding}, 12);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].user, "root");
  EXPECT_EQ(told[0].key, "node.n1.12");
  EXPECT_EQ(told[0].why, "xid, device 3: Xid 79");
  EXPECT_EQ(of(DeclareNodeLost{NodeId(2)}, 13).at(0).what, "lost");
}

TEST_F(Notices, ASessionThatIsIdleIsToldItsEnd) {
  choose("ann", {About::kSessionIdle});
  const JobId job = cluster.submit_and_start();
  const auto told =
      of(IdleObserved{job, 1, IdleCheck::kInput, "notebooks", "no input for 2 h", seconds(600)});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].then, kAt + seconds(600));
  EXPECT_EQ(told[0].why, "no input for 2 h");
  EXPECT_EQ(told[0].what, "input");
}

TEST_F(Notices, ALimitIsAnnouncedAndDroppedWhenTheJobEnds) {
  choose("ann", {About::kJobStopsSoon});
  EXPECT_TRUE(coming_of(cluster.state, kSoon).empty());
  const JobId brief = cluster.submit_and_start({.limit_s = 1799});
  const JobId job = cluster.submit_and_start({.limit_s = 3600}, {2});
  const std::vector<Coming> coming = coming_of(cluster.state, kSoon);
  ASSERT_EQ(coming.size(), 1u) << "a short job is not announced: " << brief.value;
  EXPECT_EQ(coming[0].job, job);
  const Instant started = cluster.job(job).attempts.back().started_at;
  EXPECT_EQ(coming[0].due, started + seconds(2700));
  EXPECT_EQ(coming_of(cluster.state, kSoon, StampedEvent{PlacementStarted{job, 1, NodeId(2)}, {}}),
            coming);
  const auto told = notices_of(cluster.state, kSoon, coming[0]);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].then, started + seconds(3600));
  cluster.end(job);
  EXPECT_TRUE(notices_of(cluster.state, kSoon, coming[0]).empty());
}

TEST_F(Notices, TheLimitOfAnotherAttemptIsWhatWasLeft) {
  choose("ann", {About::kJobStopsSoon});
  const JobId job = cluster.submit_and_start({.limit_s = 7200, .preempt = Preempt::kCheckpoint});
  cluster.pass(seconds(3600));
  cluster.decided(Stop{job, 1, StopReason::kPreempted, Purpose::kStarvation, {}});
  cluster.leave(job);
  cluster.decided(Requeue{job, StopReason::kPreempted});
  cluster.launch(job);
  cluster.start(job);
  const Instant started = cluster.job(job).attempts.back().started_at;
  const std::vector<Coming> coming = coming_of(cluster.state, kSoon);
  ASSERT_EQ(coming.size(), 1u);
  EXPECT_EQ(coming[0].due, started + seconds(2700));
  EXPECT_EQ(notices_of(cluster.state, kSoon, coming[0]).at(0).then, started + seconds(3600));
}

TEST_F(Notices, APromiseIsAnnouncedAsItStandsThen) {
  choose("ann", {About::kJobStartsSoon});
  const JobId job = cluster.submit();
  const Instant start = cluster.state.now + seconds(7200);
  const Decision promise = Promise{job, start, {}, false};
  cluster.decided(promise);
  const auto coming = coming_of(cluster.state, kSoon, promise);
  ASSERT_EQ(coming.size(), 1u);
  EXPECT_EQ(coming[0].due.us, start.us - kSoon.us);
  EXPECT_EQ(notices_of(cluster.state, kSoon, coming[0]).at(0).then, start);
  cluster.decided(Promise{job, start + seconds(600), {}, false});
  EXPECT_TRUE(notices_of(cluster.state, kSoon, coming[0]).empty());
  EXPECT_EQ(coming_of(cluster.state, kSoon).at(0).due.us, start.us + 600'000'000 - kSoon.us);
  cluster.decided(Withdraw{job});
  EXPECT_TRUE(coming_of(cluster.state, kSoon).empty());
}

TEST_F(Notices, WhatIsKeptIsReadBack) {
  choose("ann", {About::kJobEnded});
  const JobId job = cluster.submit_and_start();
  cluster.leave(job, 7);
  const Notice told = of(EndJob{job, Outcome::kFailed, 7}).at(0);
  const auto again = read_notice(notice_json(told));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(notice_json(*again), notice_json(told));
  for (const char* broken : {"{}", "[]", "null", R"({"about": "gossip"})"}) {
    EXPECT_FALSE(read_notice(nlohmann::json::parse(broken)).ok()) << broken;
  }
}

}  // namespace
}  // namespace dove::notices
