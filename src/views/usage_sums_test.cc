#include "views/usage_sums.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::views {
namespace {

constexpr std::int64_t kHour_us = 3'600'000'000;
constexpr std::int64_t kGpu_hour = 1000 * 3'600'000LL;  // in thousandths of GPUs times milliseconds

Instant hour(std::int64_t number) { return {number * kHour_us}; }

core::Attempt attempt(std::int64_t from_h, std::int64_t to_h, int gpus, int cores) {
  core::Attempt made;
  made.allocated_at = hour(from_h);
  if (to_h > 0) made.ended_at = hour(to_h);
  Placement placement;
  for (int i = 0; i < gpus; ++i) placement.devices.push_back({i});
  for (int i = 0; i < cores; ++i) placement.cores.insert(i);
  made.placements.emplace_back().placement = std::move(placement);
  return made;
}

core::Job job(const std::string& user, std::vector<core::Attempt> attempts) {
  core::Job made;
  made.spec = std::make_shared<JobSpec>(core::spec_of({.user = user}));
  made.attempts = std::move(attempts);
  return made;
}

TEST(UsageSums, CountsWhatLiesInItsTimeAndStep) {
  const core::State state;
  UsageSums sums(UsageBy::kUser, hour(10), hour(14), 2);
  EXPECT_EQ(sums.step(), Span{2 * kHour_us});
  sums.add(state, job("ann", {attempt(8, 11, 2, 4), attempt(13, 0, 1, 1)}), hour(20));
  sums.add(state, job("bob", {attempt(9, 15, 8, 8)}), hour(20));
  sums.add(state, job("bob", {attempt(2, 10, 8, 8)}), hour(20));
  sums.add(state, job("eve", {}), hour(20));
  const std::vector<UsageSums::Row> rows = sums.rows();
  ASSERT_EQ(rows.size(), 2u) << "whoever held nothing has no row";
  EXPECT_EQ(rows[0].name, "bob");
  EXPECT_EQ(rows[0].gpu_milli_ms, 32 * kGpu_hour);
  EXPECT_EQ(rows[0].jobs, 1);
  EXPECT_EQ(rows[1].name, "ann");
  EXPECT_EQ(rows[1].gpu_milli_ms, 3 * kGpu_hour);
  EXPECT_EQ(rows[1].steps, (std::vector<std::int64_t>{2 * kGpu_hour, kGpu_hour}));
  EXPECT_EQ(rows[1].core_ms, 5 * 3'600'000);
}

TEST(UsageSums, WhatRunsCountsUntilNow) {
  const core::State state;
  UsageSums sums(UsageBy::kQueue, hour(10), hour(14), 1);
  sums.add(state, job("ann", {attempt(10, 0, 1, 1)}), hour(12));
  EXPECT_EQ(sums.rows().at(0).name, "default");
  EXPECT_EQ(sums.rows().at(0).gpu_milli_ms, 2 * kGpu_hour);
}

TEST(UsageSums, WhatForgottenJobsHeldIsSpreadOverTheirDay) {
  const core::State state;
  UsageSums sums(UsageBy::kProject, hour(12), hour(36), 4);
  sums.add(state, {0, "ann", "vision", "default"}, {24 * kGpu_hour, 48 * 3'600'000, 2}, hour(72));
  sums.add(state, {1, "bob", "vision", "default"}, {24 * kGpu_hour, 0, 1}, hour(72));
  sums.add(state, {2, "bob", "vision", "default"}, {24 * kGpu_hour, 0, 1}, hour(72));  // after it
  const std::vector<UsageSums::Row> rows = sums.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "vision");
  EXPECT_EQ(rows[0].gpu_milli_ms, 24 * kGpu_hour);
  EXPECT_EQ(rows[0].core_ms, 24 * 3'600'000);
  EXPECT_EQ(rows[0].jobs, 3);
  EXPECT_EQ(rows[0].steps, (std::vector<std::int64_t>(4, 6 * kGpu_hour)));
}

TEST(UsageSums, WhatForgottenJobsHeldTodayWasBeforeNow) {
  const core::State state;
  UsageSums sums(UsageBy::kUser, hour(0), hour(6), 1);
  sums.add(state, {0, "ann", "", "default"}, {3 * kGpu_hour, 0, 1}, hour(6));
  EXPECT_EQ(sums.rows().at(0).gpu_milli_ms, 3 * kGpu_hour);
}

// A guest's job counts where its project does, whether it is known or forgotten.
TEST(UsageSums, ADomainHoldsWhatItsProjectsAndItsUsersDo) {
  core::State state;
  state.projects["vision"].domain = "corp";
  state.users["ann"].domain = "lab";
  UsageSums sums(UsageBy::kDomain, hour(0), hour(24), 1);
  sums.add(state, {0, "ann", "vision", "default"}, {2 * kGpu_hour, 0, 1}, hour(72));
  sums.add(state, {0, "ann", "", "default"}, {1 * kGpu_hour, 0, 1}, hour(72));
  sums.add(state, job("ann", {attempt(10, 13, 1, 1)}), hour(20));
  sums.add(state, job("eve", {attempt(10, 11, 1, 1)}), hour(20));
  const std::vector<UsageSums::Row> rows = sums.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "lab");
  EXPECT_EQ(rows[0].gpu_milli_ms, 4 * kGpu_hour);
  EXPECT_EQ(rows[1].name, "corp");
  EXPECT_EQ(rows[2].name, "");
}

}  // namespace
}  // namespace dove::views
