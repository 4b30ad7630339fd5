#include "core/cycle/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/cycle/decide_fixture.h"
#include "core/cycle/next_wake.h"
#include "core/state/hash.h"

namespace dove::core {
namespace {

void submit(Scheduler& brain, const Ask& ask) {
  brain.apply(StampedEvent{JobSubmitted{std::make_shared<const JobSpec>(spec_of(ask))}, {}});
}

std::ptrdiff_t launches(const std::vector<Decision>& decisions) {
  return std::count_if(decisions.begin(), decisions.end(),
                       [](const Decision& each) { return std::holds_alternative<Launch>(each); });
}

TEST(Scheduler, DecidesAsOneThatKeepsNothing) {
  const TestCluster cluster(2, {.gpus = 4});
  Scheduler brain(plain_policies(), cluster.state);
  State plain = cluster.state;
  for (int i = 0; i < 20; ++i) {
    const Ask ask{.gpus = 1 + i % 3, .limit_s = 100, .priority = i % 4};
    submit(brain, ask);
    core::apply(plain,
                StampedEvent{JobSubmitted{std::make_shared<const JobSpec>(spec_of(ask))}, {}});
    EXPECT_EQ(brain.decide(), decide(plain, plain_policies())) << i;
    EXPECT_EQ(brain.wake_at(), wake_at(plain)) << i;
  }
  EXPECT_EQ(state_hash(brain.state()), state_hash(plain));
}

// A leader that handed over folds what the next one decides. A job that ended and was forgotten
// there is not to be found in its indexes when it leads again.
TEST(Scheduler, WhatOthersDecideIsNotNoted) {
  Scheduler former(plain_policies(), TestCluster(1, {.gpus = 1}).state);
  submit(former, {.gpus = 1});
  submit(former, {.gpus = 1});
  ASSERT_EQ(launches(former.decide()), 1) << "the other one waits";
  Scheduler leader(plain_policies(), former.state());
  former.let_go();
  const auto both = [&](const Event& event) {
    for (Scheduler* one : {&former, &leader}) one->apply(StampedEvent{event, {}});
    for (const Decision& decision : leader.decide()) former.apply(decision);
  };
  both(JobCancelRequested{JobId(2)});
  const Instant later = leader.state().now + seconds(30 * 86'400);
  for (Scheduler* one : {&former, &leader}) one->begin_batch(later, Epoch(2));
  both(TimeReached{});
  ASSERT_EQ(former.state().find_job(JobId(2)), nullptr);
  EXPECT_FALSE(former.state().changes.is_followed());
  EXPECT_TRUE(former.state().changes.jobs.empty());
  submit(former, {.gpus = 1});
  submit(leader, {.gpus = 1});
  EXPECT_EQ(former.decide(), leader.decide());
  EXPECT_EQ(former.wake_at(), leader.wake_at());
}

TEST(Scheduler, ADeclarationBetweenCyclesIsSeen) {
  Scheduler brain(plain_policies(), TestCluster(1, {.gpus = 1}).state);
  Pool closed = brain.state().pools.at("default");
  closed.open = false;
  brain.decide();
  brain.apply(StampedEvent{ObjectApplied{closed}, {}});
  submit(brain, {.gpus = 1});
  EXPECT_TRUE(brain.decide().empty());
  closed.open = true;
  brain.apply(StampedEvent{ObjectApplied{closed}, {}});
  EXPECT_EQ(brain.decide().size(), 1u);
}

TEST(Scheduler, WhoUsedUpTheMonthStartsWithTheNext) {
  TestCluster cluster(1, {.gpus = 2});
  UserLimit limit;
  limit.name = "*";
  limit.limits.gpu_ms_month = 3600 * 1000;
  cluster.declare(limit);
  const JobId first = cluster.submit_and_start({.gpus = 1});
  Scheduler brain(plain_policies(), cluster.state);
  const Instant month_end = brain.wake_at();
  brain.begin_batch(brain.state().now + seconds(3600), Epoch(1));
  submit(brain, {.gpus = 1});
  EXPECT_TRUE(brain.decide().empty());
  // Also when what ran has gone: what was used is used.
  brain.apply(StampedEvent{PlacementEnded{first, 1, NodeId(1), {}, 0, 0}, {}});
  EXPECT_EQ(launches(brain.decide()), 0);
  brain.begin_batch(brain.wake_at(), Epoch(1));  // the first job is forgotten
  EXPECT_EQ(launches(brain.decide()), 0);
  EXPECT_EQ(brain.wake_at(), month_end);
  brain.begin_batch(month_end, Epoch(1));
  EXPECT_EQ(launches(brain.decide()), 1);
}

// Eight jobs without a plan are as many as a queue may try in one look. When their user's month is
// used up, they are refused and the next job gets its turn, though nothing happened but time.
TEST(Scheduler, WhomAMonthRefusesStandsInNobodysWay) {
  TestCluster cluster(2, {.gpus = 4});
  UserLimit limit;
  limit.name = "ann";
  limit.limits.gpu_ms_month = 3600 * 1000;
  cluster.declare(limit);
  cluster.submit_and_start({.gpus = 1});
  cluster.submit_and_start({.gpus = 4, .user = "bob", .limit_s = 7200}, {2});
  for (int i = 0; i < 8; ++i) cluster.submit({.cores = 1 + i, .gpus = 4, .tasks = 2});
  const JobId last = cluster.submit({.gpus = 4, .user = "bob", .limit_s = 60});
  Scheduler brain(plain_policies(), cluster.state);
  EXPECT_TRUE(brain.decide().empty());
  brain.begin_batch(brain.state().now + seconds(3600), Epoch(1));
  const std::vector<Decision> made = brain.decide();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(std::get<Promise>(made[0]).job, last);
}

TEST(Scheduler, ABatchThatHadNothingIsTakenBack) {
  Scheduler brain(plain_policies(), TestCluster(1).state);
  const Instant before = brain.state().now;
  brain.begin_batch(before + seconds(5), Epoch(2));
  brain.abandon_batch(before, Epoch(1));
  EXPECT_EQ(brain.state().now, before);
  EXPECT_EQ(brain.state().epoch, Epoch(1));
}

}  // namespace
}  // namespace dove::core
