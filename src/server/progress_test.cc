#include "server/progress.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/health.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSecond_us = 1'000'000;

// Job 1 of user ada runs with one task on each of `count` nodes.
core::State running_on(int count) {
  core::State state;
  auto spec = std::make_shared<JobSpec>();
  spec->user = "ada";
  spec->queue = "research";
  spec->project = "vision";
  core::Job job;
  job.id = JobId(1);
  job.spec = spec;
  job.phase = JobPhase::kActive;
  core::Attempt attempt;
  attempt.number = 2;
  for (int i = 1; i <= count; ++i) {
    core::Node node;
    node.id = NodeId(static_cast<std::uint32_t>(i));
    node.name = "n" + std::to_string(i);
    state.nodes.push_back(std::move(node));
    core::PlacementRecord record;
    record.placement.node = NodeId(static_cast<std::uint32_t>(i));
    attempt.placements.push_back(std::move(record));
  }
  job.attempts.push_back(std::move(attempt));
  state.jobs.try_emplace(JobId(1), std::move(job));
  return state;
}

Json said(int rank, std::int64_t step, std::int64_t busy_us) {
  return {{"kind", "progress"},
          {"job", 1},
          {"attempt", 2},
          {"ranks",
           {{{"rank", rank},
             {"step", step},
             {"step_us", 1'000'000},
             {"busy_us", busy_us},
             {"loss", 0.5},
             {"samples", 64}}}}};
}

TEST(Progress, IsShownWithItsSpreadOverRanks) {
  const core::State state = running_on(3);
  ProgressBoard board;
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(board.take(state, NodeId(static_cast<std::uint32_t>(i)),
                           said(i - 1, 10 + i, 100'000 * i), 0));
  }
  Json job;
  board.show(JobId(1), true, job);
  const Json& progress = job["progress"];
  EXPECT_EQ(progress["ranks"], 3);
  EXPECT_EQ(progress["step"], 11);
  EXPECT_EQ(progress["step_max"], 13);
  EXPECT_EQ(progress["busy_min_us"], 100'000);
  EXPECT_EQ(progress["busy_max_us"], 300'000);
  EXPECT_EQ(progress["slowest_rank"], 2);
  EXPECT_EQ(progress["loss"], 0.5);
  EXPECT_EQ(progress["samples_per_s"], 192.0);
  EXPECT_EQ(progress["slowest"][0]["rank"], 2);
  telemetry::Exposition out;
  board.add_to(out, state);
  EXPECT_NE(out.text().find("dove_task_step{job=\"1\",task=\"2\",user=\"ada\",queue=\"research\","
                            "project=\"vision\"} 13\n"),
            std::string::npos)
      << out.text();
}

TEST(Progress, IsOverWithItsAttempt) {
  const core::State state = running_on(1);
  ProgressBoard board;
  ASSERT_TRUE(board.take(state, NodeId(1), said(0, 1, 1000), 0));
  board.decided(Requeue{JobId(1), StopReason::kPreempted, false, false});
  Json job;
  board.show(JobId(1), true, job);
  EXPECT_TRUE(job["progress"].is_null());
}

TEST(Progress, OfWhatDoesNotRunThereIsNotHeard) {
  core::State state = running_on(2);
  ProgressBoard board;
  Json other = said(0, 1, 1000);
  other["attempt"] = 1;
  EXPECT_FALSE(board.take(state, NodeId(1), other, 0));
  other = said(0, 1, 1000);
  other["job"] = 9;
  EXPECT_FALSE(board.take(state, NodeId(1), other, 0));
  state.jobs.find(JobId(1))->second.attempts.back().placements.pop_back();
  EXPECT_FALSE(board.take(state, NodeId(2), said(0, 1, 1000), 0));
  Json job;
  board.show(JobId(1), false, job);
  EXPECT_TRUE(job["progress"].is_null());
}

TEST(Progress, IsLoggedNowAndThen) {
  const core::State state = running_on(1);
  ProgressBoard board;
  int logged = 0;
  for (int s = 0; s < 600; s += 5) {
    logged += board.take(state, NodeId(1), said(0, s, 1'000'000 + s), s * kSecond_us) ? 1 : 0;
  }
  EXPECT_GE(logged, 9);
  EXPECT_LE(logged, 11);
}

TEST(Progress, OfASlowNodeIsLoggedUntilTheLedgerHasItsThreeInARow) {
  const core::State state = running_on(3);
  ProgressBoard board;
  board.take(state, NodeId(1), said(0, 1, 100'000), 0);
  board.take(state, NodeId(2), said(1, 1, 100'000), 0);
  int logged = 0;
  for (int s = 0; s < 50; s += 5) {
    logged += board.take(state, NodeId(3), said(2, s, 200'000), s * kSecond_us) ? 1 : 0;
  }
  EXPECT_EQ(logged, core::kSlow_reports);
  // As fast as the others again: that is told at once.
  EXPECT_TRUE(board.take(state, NodeId(3), said(2, 60, 100'000), 51 * kSecond_us));
}

}  // namespace
}  // namespace dove::server
