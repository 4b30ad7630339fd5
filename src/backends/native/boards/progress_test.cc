#include "backends/native/boards/progress.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/state/running/hang.h"

namespace dove::backends {
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
    Placement placement;
    placement.node = NodeId(static_cast<std::uint32_t>(i));
    attempt.placements.push_back({placement});
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

// What the agent of `node` tells.
std::optional<Event> tell(ProgressBoard& board, const core::State& state, int node,
                          const Json& item, std::int64_t now_us) {
  Json said = item;
  said["kind"] = "progress";
  const Result<protocol::Report> report = protocol::read_report(said);
  CHECK(report.ok(), "the test's progress can be read");
  return board.take(state, NodeId(static_cast<std::uint32_t>(node)),
                    std::get<protocol::Progress>(*report), now_us);
}

TEST(Progress, IsShownWithItsSpreadOverRanks) {
  const core::State state = running_on(3);
  ProgressBoard board;
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(tell(board, state, i, said(i - 1, 10 + i, 100'000 * i), 0));
  }
  Json job;
  board.show(state, JobId(1), true, job);
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
  board.add_to(out, state, [](const std::string&) { return true; });
  EXPECT_NE(out.text().find("dove_task_step{job=\"1\",task=\"2\",user=\"ada\",queue=\"research\","
                            "project=\"vision\"} 13\n"),
            std::string::npos)
      << out.text();
}

TEST(Progress, IsOverWithItsAttempt) {
  const core::State state = running_on(1);
  ProgressBoard board;
  ASSERT_TRUE(tell(board, state, 1, said(0, 1, 1000), 0));
  board.decided(Requeue{JobId(1), StopReason::kPreempted, false, false});
  Json job;
  board.show(state, JobId(1), true, job);
  EXPECT_TRUE(job["progress"].is_null());
}

TEST(Progress, OfWhatDoesNotRunThereIsNotHeard) {
  core::State state = running_on(2);
  ProgressBoard board;
  Json other = said(0, 1, 1000);
  other["attempt"] = 1;
  EXPECT_FALSE(tell(board, state, 1, other, 0));
  other = said(0, 1, 1000);
  other["job"] = 9;
  EXPECT_FALSE(tell(board, state, 1, other, 0));
  state.jobs.find(JobId(1))->second.attempts.back().placements.pop_back();
  EXPECT_FALSE(tell(board, state, 2, said(0, 1, 1000), 0));
  Json job;
  board.show(state, JobId(1), false, job);
  EXPECT_TRUE(job["progress"].is_null());
}

TEST(Progress, IsLoggedNowAndThen) {
  const core::State state = running_on(1);
  ProgressBoard board;
  int logged = 0;
  for (int s = 0; s < 600; s += 5) {
    logged += tell(board, state, 1, said(0, s, 1'000'000 + s), s * kSecond_us) ? 1 : 0;
  }
  EXPECT_GE(logged, 9);
  EXPECT_LE(logged, 11);
}

TEST(Progress, OfASlowNodeIsLoggedUntilTheLedgerHasItsThreeInARow) {
  const core::State state = running_on(3);
  ProgressBoard board;
  tell(board, state, 1, said(0, 1, 100'000), 0);
  tell(board, state, 2, said(1, 1, 100'000), 0);
  int logged = 0;
  for (int s = 0; s < 50; s += 5) {
    logged += tell(board, state, 3, said(2, s, 200'000), s * kSecond_us) ? 1 : 0;
  }
  EXPECT_EQ(logged, state.settings.slow_reports);
  // As fast as the others again: that is told at once.
  EXPECT_TRUE(tell(board, state, 3, said(2, 60, 100'000), 51 * kSecond_us));
}

Json in_phase(int rank, std::int64_t step, const char* phase) {
  Json item = said(rank, step, 100'000);
  item["ranks"][0]["phase"] = phase;
  return item;
}

constexpr std::int64_t kAfter = 600 * kSecond_us;

core::State started_on(int count) {
  core::State state = running_on(count);
  state.settings.hang_after = Span{kAfter};
  state.jobs.find(JobId(1))->second.attempts.back().stage = Stage::kRunning;
  return state;
}

// As the ledger folds it, once it has committed what look() gave.
void fold(core::State& state, const std::vector<Event>& events) {
  for (const Event& event : events) {
    if (const auto* hang = std::get_if<HangObserved>(&event)) {
      core::fold_hang(state, state.jobs.find(hang->job)->second, *hang);
    } else {
      core::end_hang(state, std::get<HangEnded>(event).job);
    }
  }
}

HangObserved only_hang(const std::vector<Event>& events) {
  EXPECT_EQ(events.size(), 1u);
  const auto* hang = events.empty() ? nullptr : std::get_if<HangObserved>(&events[0]);
  EXPECT_NE(hang, nullptr);
  return hang == nullptr ? HangObserved{} : *hang;
}

TEST(Hangs, OfAllRanksAreToldOnceAndAreOverWithTheNextStep) {
  core::State state = started_on(2);
  ProgressBoard board;
  tell(board, state, 1, said(0, 7, 1000), kSecond_us);
  tell(board, state, 2, said(1, 7, 1000), 2 * kSecond_us);
  EXPECT_TRUE(board.look(state, kAfter).empty());
  const auto found = board.look(state, kAfter + 2 * kSecond_us);
  EXPECT_EQ(only_hang(found), (HangObserved{JobId(1), 2, NodeId(1), false, 0, 2, 7, Span{kAfter}}));
  EXPECT_TRUE(board.look(state, 2 * kAfter).empty());  // it is on its way to the ledger
  fold(state, found);
  EXPECT_EQ(board.trouble(state, JobId(1)),
            "it seems to hang: job 1: all 2 ranks are silent at step 7 for 600 s");
  EXPECT_TRUE(board.look(state, 3 * kAfter).empty());
  tell(board, state, 2, said(1, 8, 1000), 3 * kAfter);
  const auto over = board.look(state, 3 * kAfter);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(std::get<HangEnded>(over[0]), (HangEnded{JobId(1), 2}));
  fold(state, over);
  EXPECT_TRUE(board.look(state, 3 * kAfter).empty());
  EXPECT_EQ(board.trouble(state, JobId(1)), "");
}

TEST(Hangs, NameTheRankThatTheOthersWaitFor) {
  const core::State state = started_on(3);
  ProgressBoard by_step;
  tell(by_step, state, 1, said(0, 8, 1000), 1);
  tell(by_step, state, 2, said(1, 7, 1000), 1);
  tell(by_step, state, 3, said(2, 8, 1000), 1);
  EXPECT_EQ(only_hang(by_step.look(state, kAfter + 1)),
            (HangObserved{JobId(1), 2, NodeId(2), true, 1, 3, 7, Span{kAfter}}));

  ProgressBoard by_phase;
  tell(by_phase, state, 1, in_phase(0, 8, "wait"), 1);
  tell(by_phase, state, 2, in_phase(1, 8, "wait"), 1);
  tell(by_phase, state, 3, in_phase(2, 8, "train"), 1);
  EXPECT_EQ(only_hang(by_phase.look(state, kAfter + 1)),
            (HangObserved{JobId(1), 2, NodeId(3), true, 2, 3, 8, Span{kAfter}}));
  by_phase.decided(EndJob{JobId(1), Outcome::kCancelled, 1});
  EXPECT_TRUE(by_phase.look(state, 3 * kAfter).empty());
}

TEST(Hangs, OutliveARestartOfTheServer) {
  core::State state = started_on(2);
  ProgressBoard before;
  tell(before, state, 1, said(0, 8, 1000), 1);
  tell(before, state, 2, said(1, 7, 1000), 1);
  fold(state, before.look(state, kAfter + 1));
  // What is told again is no news; nor is it that the others are a step ahead.
  ProgressBoard after;
  tell(after, state, 1, said(0, 8, 1000), 1);
  tell(after, state, 2, said(1, 7, 1000), 1);
  EXPECT_TRUE(after.look(state, 3 * kAfter).empty());
  EXPECT_NE(after.trouble(state, JobId(1)), "");
  ProgressBoard later;
  tell(later, state, 2, said(1, 8, 1000), 1);
  EXPECT_EQ(later.look(state, 1).size(), 1u);
}

TEST(Hangs, AreNotWhatIsDoneOrTakesLongSteps) {
  core::State state = started_on(1);
  ProgressBoard done;
  tell(done, state, 1, in_phase(0, 8, "done"), 1);
  EXPECT_TRUE(done.look(state, 10 * kAfter).empty());
  ProgressBoard slow;
  Json item = said(0, 8, 1000);
  item["ranks"][0]["step_us"] = 60 * kSecond_us;  // 20 of them are 1200 s
  tell(slow, state, 1, item, 1);
  EXPECT_TRUE(slow.look(state, 1100 * kSecond_us).empty());
  EXPECT_EQ(slow.look(state, 1300 * kSecond_us).size(), 1u);
  // One that is being stopped does not hang, and where nobody wants to know none does.
  ProgressBoard stopping;
  tell(stopping, running_on(1), 1, said(0, 8, 1000), 1);
  EXPECT_TRUE(stopping.look(running_on(1), 10 * kAfter).empty());
  ProgressBoard unwatched;
  tell(unwatched, state, 1, said(0, 8, 1000), 1);
  state.settings.hang_after = {};
  EXPECT_TRUE(unwatched.look(state, 10 * kAfter).empty());
}

TEST(Progress, OfSeveralRanksOfANodeSaysWhichIsSlowest) {
  core::State state = started_on(1);
  ProgressBoard board;
  Json item = said(0, 5, 100'000);
  for (int rank = 1; rank < 4; ++rank) {
    item["ranks"].push_back(
        said(rank, rank == 2 ? 4 : 5, rank == 2 ? 250'000 : 100'000)["ranks"][0]);
  }
  const auto event = tell(board, state, 1, item, 1);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(
      std::get<ProgressReported>(*event),
      (ProgressReported{JobId(1), 2, NodeId(1), 4, milliseconds(250), 2, 4, milliseconds(100)}));
  // It is slower than the node's others, so the ledger is told again at once.
  EXPECT_TRUE(tell(board, state, 1, item, 2).has_value());
}

}  // namespace
}  // namespace dove::backends
