#include "core/state/past/count_forgotten.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

constexpr std::int64_t kDay_us = 24LL * 3600 * 1'000'000;

class ForgottenTest : public testing::Test {
 protected:
  // One of `gpus` GPUs and `cores` cores, from `begin_us` to `end_us`.
  static Job job(std::int64_t begin_us, std::int64_t end_us, int gpus, int cores) {
    auto spec = std::make_shared<JobSpec>();
    spec->user = "ada";
    spec->project = "vision";
    spec->queue = "long";
    Placement placement;
    for (int i = 0; i < gpus; ++i) placement.devices.push_back({i, 1000});
    for (int i = 0; i < cores; ++i) placement.cores.insert(i);
    Attempt attempt;
    attempt.allocated_at = Instant{begin_us};
    attempt.ended_at = Instant{end_us};
    attempt.placements = {{placement, PlacementStage::kEnded}};
    Job job;
    job.spec = std::move(spec);
    job.attempts = {attempt};
    return job;
  }

  const ForgottenUse& on(std::int32_t day) {
    return state_.forgotten.use.at({day, "ada", "vision", "long"});
  }

  State state_;
};

TEST_F(ForgottenTest, AJobIsSplitBetweenTheDaysAndCountedOnItsLast) {
  state_.now = Instant{12 * kDay_us};
  count_forgotten(state_, job(10 * kDay_us + kDay_us / 2, 11 * kDay_us + kDay_us / 4, 2, 8));
  EXPECT_EQ(on(10).gpu_milli_ms, 2000LL * 12 * 3600 * 1000);
  EXPECT_EQ(on(10).core_ms, 8LL * 12 * 3600 * 1000);
  EXPECT_EQ(on(10).jobs, 0);
  EXPECT_EQ(on(11).gpu_milli_ms, 2000LL * 6 * 3600 * 1000);
  EXPECT_EQ(on(11).jobs, 1);
  EXPECT_EQ(state_.forgotten.jobs, 1);
  EXPECT_EQ(state_.forgotten.since, state_.now);
}

TEST_F(ForgottenTest, OneThatNeverHeldAnythingIsCountedAndHasNoUse) {
  Job never;
  never.spec = std::make_shared<JobSpec>();
  count_forgotten(state_, never);
  EXPECT_EQ(state_.forgotten.jobs, 1);
  EXPECT_TRUE(state_.forgotten.use.empty());
}

TEST_F(ForgottenTest, WhatIsTooOldIsDropped) {
  state_.now = Instant{2 * kDay_us};
  count_forgotten(state_, job(kDay_us, kDay_us + 1'000'000, 1, 1));
  state_.now = Instant{(2 + kForgotten_days) * kDay_us};
  const std::int64_t begin_us = state_.now.us - kDay_us;
  count_forgotten(state_, job(begin_us, begin_us + 1'000'000, 1, 1));
  EXPECT_EQ(state_.forgotten.use.size(), 1u);
  EXPECT_EQ(on(1 + kForgotten_days).jobs, 1);
  EXPECT_EQ(state_.forgotten.jobs, 2);
}

// The records of a version that did not count them are folded as they were.
TEST(ForgottenFold, OnlyWhatIsDecidedSoIsCounted) {
  TestCluster cluster;
  const JobId first = cluster.submit();
  const JobId second = cluster.submit();
  cluster.decided(EndJob{first, Outcome::kCancelled, 0});
  cluster.decided(EndJob{second, Outcome::kCancelled, 0});
  cluster.decided(ForgetJob{first});
  EXPECT_EQ(cluster.state.forgotten.jobs, 0);
  cluster.decided(ForgetJob{second, true});
  cluster.decided(ForgetJob{second, true});  // told twice
  EXPECT_EQ(cluster.state.forgotten.jobs, 1);
  EXPECT_EQ(cluster.state.jobs.size(), 0u);
}

}  // namespace
}  // namespace dove::core
