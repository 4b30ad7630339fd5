#include "policies/learned.h"

#include <gtest/gtest.h>

#include "core/state/apply.h"
#include "core/state/fold.h"
#include "core/state/learned/learned.h"

namespace dove::policies {
namespace {

// A state whose order is `learned`, in which jobs end at will.
class World {
 public:
  World() {
    core::begin_batch(state, Instant{seconds(1000).us}, Epoch(1));
    ClusterSettings settings;
    settings.order = "learned";
    core::apply(state, StampedEvent{ObjectApplied{settings}, {}});
  }

  void ended(const std::string& user, std::int32_t gpus, Span ran) {
    core::Job job;
    job.spec = spec(user, gpus);
    job.ran_before = ran;
    core::learn_attempt(state, job, Span{});
    core::learn_end(state, job);
  }

  const core::Job& submit(const std::string& user, std::int32_t gpus, std::int32_t priority = 0,
                          Preempt preempt = Preempt::kNone) {
    auto asked = spec(user, gpus);
    asked->priority = priority;
    asked->preempt = preempt;
    const JobId id(state.next_job);
    core::apply(state, StampedEvent{JobSubmitted{asked}, {}});
    return *state.find_job(id);
  }

  std::int64_t rank(const core::Job& job) const { return Learned().rank(state, job); }
  void pass(Span span) { core::begin_batch(state, state.now + span, Epoch(1)); }

  core::State state;

 private:
  static std::shared_ptr<JobSpec> spec(const std::string& user, std::int32_t gpus) {
    auto made = std::make_shared<JobSpec>();
    made->user = user;
    made->groups.resize(1);
    made->groups[0].per_task.gpus = gpus;
    return made;
  }
};

TEST(Learned, WhoseJobsWereShortComesFirst) {
  World world;
  for (int i = 0; i < 100; ++i) {
    world.ended("quick", 1, seconds(60));
    world.ended("slow", 1, seconds(36'000));
  }
  const core::Job& slow = world.submit("slow", 1);
  world.pass(seconds(60));
  EXPECT_GT(world.rank(world.submit("quick", 1)), world.rank(slow));
}

TEST(Learned, NarrowComesBeforeWide) {
  World world;
  for (int i = 0; i < 10; ++i) world.ended("ann", 1, seconds(600));
  const core::Job& wide = world.submit("ann", 8);
  world.pass(seconds(1));
  EXPECT_GT(world.rank(world.submit("ann", 1)), world.rank(wide));
}

// Nothing starves: what is submitted late enough is behind, however short.
TEST(Learned, WaitingCountsAgainstAllThatIsLikely) {
  World world;
  for (int i = 0; i < 100; ++i) {
    world.ended("quick", 1, seconds(60));
    world.ended("slow", 64, seconds(36'000));
  }
  const core::Job& slow = world.submit("slow", 64);
  world.pass(Span{400 * world.state.learned.outlook.mean_run.us});
  EXPECT_GT(world.rank(slow), world.rank(world.submit("quick", 1)));
}

TEST(Learned, PriorityGoesBeforeWhatIsLikely) {
  World world;
  for (int i = 0; i < 100; ++i) world.ended("slow", 8, seconds(36'000));
  const core::Job& urgent = world.submit("slow", 8, 1);
  EXPECT_GT(world.rank(urgent), world.rank(world.submit("quick", 1)));
}

TEST(Learned, NothingIsKeptWhereNoOrderAsks) {
  World world;
  world.ended("ann", 1, seconds(600));
  EXPECT_EQ(world.state.learned.service.jobs_ended, 1);
  ClusterSettings plain;
  core::apply(world.state, StampedEvent{ObjectApplied{plain}, {}});
  EXPECT_FALSE(world.state.learned.kept);
  world.ended("ann", 1, seconds(600));
  EXPECT_EQ(world.state.learned.service.jobs_ended, 0);
  EXPECT_EQ(world.submit("ann", 1).learned_key, 0);
}

// The more there is that waits, the longer a long job is passed by shorter ones.
TEST(Learned, WhatWaitsIsCountedUntilItWaitsNoMore) {
  World world;
  for (int i = 0; i < 10; ++i) world.ended("ann", 1, seconds(36'000));
  const auto submit = [&]() -> const core::Job& {
    return world.submit("ann", 1, 0, Preempt::kRestart);
  };
  const std::int64_t first = submit().learned_key - world.state.now.us;
  const std::int64_t waiting = world.state.learned.waiting_ms;
  EXPECT_GT(waiting, 0);
  const core::Job& second = submit();
  EXPECT_GT(second.learned_key - world.state.now.us, first);
  EXPECT_GT(world.state.learned.waiting_ms, waiting);
  core::apply(world.state, Decision{EndJob{second.id, Outcome::kCancelled}});
  EXPECT_EQ(world.state.learned.waiting_ms, waiting);
}

// Once it runs it cannot be stopped, so a wrong guess must not cost it more.
TEST(Learned, WhatMayNotBeStoppedIsPassedByTwoDaysOfArrivalsAtMost) {
  World world;
  for (int i = 0; i < 10; ++i) world.ended("ann", 1, seconds(360'000));
  for (int i = 0; i < 100; ++i) world.submit("ann", 1);
  const auto passed_us = [&](Preempt preempt) {
    return world.submit("ann", 1, 0, preempt).learned_key - world.state.now.us;
  };
  EXPECT_LE(passed_us(Preempt::kNone), seconds(2 * 24 * 3600).us);
  EXPECT_GT(passed_us(Preempt::kRestart), seconds(2 * 24 * 3600).us);
}

// Users are served by share, whatever their jobs are likely to take; weight counts.
TEST(Learned, WhoHoldsLessComesFirst) {
  const core::Total total{100, 100'000, 1};
  core::Usage little;
  little.gpus_milli = 1000;
  core::Usage much;
  much.gpus_milli = 50'000;
  core::ShareView view;
  view.used = &little;
  view.total = &total;
  const std::int64_t low = Learned().share(view);
  view.used = &much;
  const std::int64_t high = Learned().share(view);
  EXPECT_GT(high, low);
  view.weights = {10, 10, 10};
  EXPECT_LT(Learned().share(view), high);
}

}  // namespace
}  // namespace dove::policies
