#include "listener/goodput.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::listener {
namespace {

bool everybody(const std::string&) { return true; }

// A job of one attempt on half a GPU: allocated at 10 s, started at 15 s, ended at 40 s.
core::State state_of(StopReason reason) {
  core::State state;
  state.now = Instant{40'000'000};
  core::Node node;
  node.id = NodeId(1);
  node.name = "n1";
  state.nodes.push_back(std::move(node));
  auto spec = std::make_shared<JobSpec>();
  spec->user = "ada";
  spec->queue = "research";
  core::Job job;
  job.id = JobId(1);
  job.spec = spec;
  core::Attempt attempt;
  attempt.number = 1;
  attempt.stop_reason = reason;
  attempt.allocated_at = Instant{10'000'000};
  attempt.started_at = Instant{15'000'000};
  attempt.ended_at = Instant{40'000'000};
  core::PlacementRecord record;
  Placement placement;
  placement.node = NodeId(1);
  placement.devices = {{0, 500, {}}};
  record.placement = placement;
  attempt.placements.push_back(std::move(record));
  job.attempts.push_back(std::move(attempt));
  state.jobs.try_emplace(JobId(1), std::move(job));
  return state;
}

constexpr std::int64_t kHalfSecond = 500 * 1'000'000;

TEST(Goodput, WhatEndedWellWasUsefulFromItsStart) {
  Goodput goodput;
  const core::State state = state_of(StopReason::kFinished);
  goodput.decided(state, EndJob{JobId(1), Outcome::kCompleted, 0});
  EXPECT_EQ(goodput.total("preparing"), 5 * kHalfSecond);
  EXPECT_EQ(goodput.total("useful"), 25 * kHalfSecond);
  telemetry::Exposition out;
  goodput.add_to(out, state, everybody);
  EXPECT_NE(out.text().find("dove_goodput_gpu_seconds_total{cause=\"useful\",user=\"ada\","
                            "queue=\"research\"} 12.5\n"),
            std::string::npos)
      << out.text();
  EXPECT_NE(
      out.text().find("dove_goodput_node_gpu_seconds_total{cause=\"preparing\",node=\"n1\"} 2.5\n"),
      std::string::npos);
}

TEST(Goodput, WhatWasLostIsLostSinceTheLastCheckpoint) {
  Goodput goodput;
  core::State state = state_of(StopReason::kNodeLost);
  goodput.decided(state, Requeue{JobId(1), StopReason::kNone, false, false});
  EXPECT_EQ(goodput.total("node_lost"), 25 * kHalfSecond);
  EXPECT_EQ(goodput.total("useful"), 0);
  Goodput saved;
  core::Job job = *state.find_job(JobId(1));
  job.id = JobId(2);
  job.attempts[0].saved_at = Instant{30'000'000};
  state.jobs.try_emplace(JobId(2), std::move(job));
  saved.decided(state, Requeue{JobId(2), StopReason::kNone, false, false});
  EXPECT_EQ(saved.total("node_lost"), 10 * kHalfSecond);
  EXPECT_EQ(saved.total("useful"), 15 * kHalfSecond);
}

TEST(Goodput, AnAttemptIsCountedOnce) {
  Goodput goodput;
  core::State state = state_of(StopReason::kPreempted);
  goodput.decided(state, Requeue{JobId(1), StopReason::kNone, false, false});
  state.now = Instant{41'000'000};  // cancelled while it waited again
  goodput.decided(state, EndJob{JobId(1), Outcome::kCancelled, 0});
  EXPECT_EQ(goodput.total("preempted"), 25 * kHalfSecond);
  goodput.decided(state, Launch{});
  goodput.decided(state, EndJob{JobId(99), Outcome::kCompleted, 0});
  EXPECT_EQ(goodput.total("useful"), 0);
}

TEST(Goodput, IsShownForAJobThatTheLedgerKnows) {
  const core::State state = state_of(StopReason::kFinished);
  nlohmann::json job;
  Goodput::show(*state.find_job(JobId(1)), job);
  EXPECT_EQ(job["goodput"]["useful_gpu_s"], 12.5);
  EXPECT_EQ(job["yield"], job["goodput"]);
  EXPECT_EQ(job["goodput"]["lost_gpu_s"], (nlohmann::json{{"preparing", 2.5}}));
  core::Job waiting = *state.find_job(JobId(1));
  waiting.attempts.clear();
  Goodput::show(waiting, job);
  EXPECT_TRUE(job["goodput"].is_null());
}

TEST(Goodput, ARestartGoesOnWithWhatWasKeptAndWhatEndedSince) {
  core::State state = state_of(StopReason::kFinished);
  Goodput before;
  before.decided(state, EndJob{JobId(1), Outcome::kCompleted, 0});
  const std::string kept = before.keep(state);
  // Job 2 ended after that, and before the restart.
  core::Job job = *state.find_job(JobId(1));
  job.id = JobId(2);
  job.attempts[0].ended_at = Instant{50'000'000};
  state.jobs.try_emplace(JobId(2), std::move(job));
  state.now = Instant{60'000'000};
  Goodput after;
  EXPECT_TRUE(after.restore(state, kept));
  EXPECT_EQ(after.total("useful"), (25 + 35) * kHalfSecond);
  EXPECT_EQ(after.total("preparing"), 10 * kHalfSecond);
  // One that was forgotten since stays counted; without what was kept the ledger is all there is.
  state.jobs.erase(JobId(1));
  Goodput later;
  EXPECT_TRUE(later.restore(state, after.keep(state)));
  EXPECT_EQ(later.total("useful"), 60 * kHalfSecond);
  telemetry::Exposition out;
  later.add_to(out, state, everybody);
  EXPECT_NE(
      out.text().find("dove_goodput_node_gpu_seconds_total{cause=\"useful\",node=\"n1\"} 30\n"),
      std::string::npos)
      << out.text();
  Goodput fresh;
  EXPECT_TRUE(fresh.restore(state, ""));
  EXPECT_EQ(fresh.total("useful"), 35 * kHalfSecond);
  Goodput damaged;
  EXPECT_FALSE(damaged.restore(state, kept.substr(0, kept.size() / 2)));
  EXPECT_EQ(damaged.total("useful"), 35 * kHalfSecond);
}

TEST(Goodput, ALargeClusterIsCountedForYears) {
  core::State state = state_of(StopReason::kFinished);
  constexpr std::int64_t kYear_us = 365LL * 24 * 3600 * 1'000'000;
  core::Attempt& attempt = state.jobs.find(JobId(1))->second.attempts[0];
  attempt.started_at = attempt.allocated_at;
  attempt.ended_at = state.now = attempt.allocated_at + Span{kYear_us};
  Placement placement;
  placement.devices.assign(10'000, {0, 1000, {}});
  attempt.placements[0].placement = placement;
  Goodput goodput;
  goodput.decided(state, EndJob{JobId(1), Outcome::kCompleted, 0});
  Goodput after;
  EXPECT_TRUE(after.restore({}, goodput.keep(state)));
  telemetry::Exposition out;
  after.add_to(out, state, everybody);
  EXPECT_NE(out.text().find("user=\"ada\",queue=\"research\"} 315360000000\n"), std::string::npos)
      << out.text();
}

TEST(Goodput, NodesThatAnOlderLogDoesNotHaveAreLeftOut) {
  core::State state = state_of(StopReason::kFinished);
  Goodput before;
  before.decided(state, EndJob{JobId(1), Outcome::kCompleted, 0});
  const std::string kept = before.keep(state);
  state.nodes.clear();
  state.jobs.clear();
  Goodput after;
  EXPECT_TRUE(after.restore(state, kept));
  telemetry::Exposition out;
  after.add_to(out, state, everybody);
  EXPECT_EQ(out.text().find("node=\""), std::string::npos) << out.text();
  EXPECT_EQ(after.total("useful"), 25 * kHalfSecond);
}

TEST(Goodput, WhatNobodyHoldsIsIdleByItsReason) {
  core::State state = state_of(StopReason::kNone);
  auto inventory = std::make_shared<Inventory>();
  inventory->devices.resize(2);
  inventory->devices[0].kind = inventory->devices[1].kind = "gpu";
  core::Node& node = state.nodes.front();
  node.inventory = inventory;
  node.contact = Contact::kConnected;
  node.device_free_milli = {500, 1000};
  constexpr std::int64_t kSecond = 1'000'000;
  Goodput goodput;
  goodput.passed(state, kSecond);  // begins
  goodput.passed(state, 3 * kSecond);
  EXPECT_EQ(goodput.total("idle"), 2 * 1500 * kSecond);
  state.usage.jobs_waiting = 1;
  goodput.passed(state, 4 * kSecond);
  EXPECT_EQ(goodput.total("idle_while_waiting"), 1500 * kSecond);
  node.declared.drained = true;
  goodput.passed(state, 5 * kSecond);
  EXPECT_EQ(goodput.total("unavailable"), 2000 * kSecond);
  goodput.passed(state, 500 * kSecond);  // the process stood still
  EXPECT_EQ(goodput.total("unavailable"), 2000 * kSecond);
  // An executor whose adapter is silent closes the node; what it uses is not unavailable.
  node.declared.drained = false;
  ForeignAllocation foreign;
  foreign.devices = {1};
  node.executors.push_back({"slurm", ExecutorNodeState::kUp, "", {foreign}, true});
  goodput.passed(state, 501 * kSecond);
  EXPECT_EQ(goodput.total("unavailable"), 3000 * kSecond);
}

}  // namespace
}  // namespace dove::listener
