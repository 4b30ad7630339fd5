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

Json in_phase(int rank, std::int64_t step, const char* phase) {
  Json item = said(rank, step, 100'000);
  item["ranks"][0]["phase"] = phase;
  return item;
}

core::State started_on(int count) {
  core::State state = running_on(count);
  state.jobs.find(JobId(1))->second.attempts.back().stage = Stage::kRunning;
  return state;
}

constexpr std::int64_t kAfter = 600 * kSecond_us;

TEST(Hangs, OfAllRanksAreToldOnceAndAreOverWithTheNextStep) {
  const core::State state = started_on(2);
  ProgressBoard board;
  board.take(state, NodeId(1), said(0, 7, 1000), kSecond_us);
  board.take(state, NodeId(2), said(1, 7, 1000), 2 * kSecond_us);
  EXPECT_TRUE(board.find_hangs(state, kAfter, kAfter).empty());
  const auto found = board.find_hangs(state, kAfter, kAfter + 2 * kSecond_us);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].is_one);
  EXPECT_EQ(found[0].evidence, "job 1: all 2 ranks are silent at step 7 for 600 s");
  EXPECT_EQ(board.trouble(state, JobId(1)), "it seems to hang: " + found[0].evidence);
  EXPECT_TRUE(board.find_hangs(state, kAfter, 3 * kAfter).empty());
  EXPECT_TRUE(board.take_over().empty());
  board.take(state, NodeId(2), said(1, 8, 1000), 3 * kAfter);
  ASSERT_EQ(board.take_over().size(), 1u);
  EXPECT_TRUE(board.take_over().empty());
  EXPECT_EQ(board.trouble(state, JobId(1)), "");
}

TEST(Hangs, NameTheRankThatTheOthersWaitFor) {
  const core::State state = started_on(3);
  ProgressBoard by_step;
  by_step.take(state, NodeId(1), said(0, 8, 1000), 1);
  by_step.take(state, NodeId(2), said(1, 7, 1000), 1);
  by_step.take(state, NodeId(3), said(2, 8, 1000), 1);
  auto found = by_step.find_hangs(state, kAfter, kAfter + 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_one);
  EXPECT_EQ(found[0].node, NodeId(2));

  ProgressBoard by_phase;
  by_phase.take(state, NodeId(1), in_phase(0, 8, "wait"), 1);
  by_phase.take(state, NodeId(2), in_phase(1, 8, "wait"), 1);
  by_phase.take(state, NodeId(3), in_phase(2, 8, "train"), 1);
  found = by_phase.find_hangs(state, kAfter, kAfter + 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, NodeId(3));
  EXPECT_EQ(found[0].evidence,
            "job 1: rank 2 is silent at step 8 for 600 s, the other 2 wait for it");
  by_phase.decided(EndJob{JobId(1), Outcome::kCancelled, 1});
  EXPECT_EQ(by_phase.take_over().size(), 1u);
}

TEST(Hangs, AreNotWhatIsDoneOrTakesLongSteps) {
  const core::State state = started_on(1);
  ProgressBoard done;
  done.take(state, NodeId(1), in_phase(0, 8, "done"), 1);
  EXPECT_TRUE(done.find_hangs(state, kAfter, 10 * kAfter).empty());
  ProgressBoard slow;
  Json item = said(0, 8, 1000);
  item["ranks"][0]["step_us"] = 60 * kSecond_us;  // 20 of them are 1200 s
  slow.take(state, NodeId(1), item, 1);
  EXPECT_TRUE(slow.find_hangs(state, kAfter, 1100 * kSecond_us).empty());
  EXPECT_EQ(slow.find_hangs(state, kAfter, 1300 * kSecond_us).size(), 1u);
  // One that is being stopped does not hang.
  ProgressBoard stopping;
  stopping.take(running_on(1), NodeId(1), said(0, 8, 1000), 1);
  EXPECT_TRUE(stopping.find_hangs(running_on(1), kAfter, 10 * kAfter).empty());
}

}  // namespace
}  // namespace dove::server
