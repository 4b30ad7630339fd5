#include "backends/native/boards/attempt_notes.h"

#include <gtest/gtest.h>

#include <string>

namespace dove::backends {
namespace {

using Notes = AttemptNotes<std::string>;
using ByNode = Notes::ByNode;

// Each job up to `jobs` was tried on node 1, and again on nodes 1 and 2; the first run still.
core::State state_of(std::uint64_t jobs, std::uint64_t running = 0) {
  core::State state;
  for (std::uint64_t id = 1; id <= jobs; ++id) {
    core::Job job;
    job.id = JobId(id);
    job.spec = std::make_shared<const JobSpec>();
    job.phase = id <= running ? JobPhase::kActive : JobPhase::kEnded;
    for (const AttemptNumber number : {1, 2}) {
      core::Attempt attempt;
      attempt.number = number;
      for (std::uint32_t node = 1; node <= static_cast<std::uint32_t>(number); ++node) {
        Placement placement;
        placement.node = NodeId(node);
        attempt.placements.push_back({placement});
      }
      job.attempts.push_back(std::move(attempt));
    }
    state.jobs.try_emplace(JobId(id), std::move(job));
  }
  return state;
}

TEST(AttemptNotes, AreOfTheLastAttempt) {
  const core::State state = state_of(1);
  Notes notes;
  EXPECT_EQ(notes.of_last(state, JobId(1)), nullptr);
  notes.take(state, NodeId(1), JobId(1), 1, "before");
  EXPECT_EQ(notes.of_last(state, JobId(1)), nullptr);
  notes.take(state, NodeId(2), JobId(1), 2, "now");
  notes.take(state, NodeId(1), JobId(1), 1, "late");
  notes.take(state, NodeId(3), JobId(1), 2, "of nobody's business");
  ASSERT_NE(notes.of_last(state, JobId(1)), nullptr);
  EXPECT_EQ(*notes.of_last(state, JobId(1)), (ByNode{{NodeId(2), "now"}}));
}

TEST(AttemptNotes, TheFirstGoWhenThereAreTooMany) {
  const core::State state = state_of(Notes::kJobs_max + 1);
  Notes notes;
  // The oldest job is the last one spoken of.
  for (std::uint64_t id = Notes::kJobs_max + 1; id > 0; --id) {
    notes.take(state, NodeId(1), JobId(id), 2, "said");
  }
  EXPECT_NE(notes.of_last(state, JobId(1)), nullptr);
  EXPECT_NE(notes.of_last(state, JobId(Notes::kJobs_max)), nullptr);
  EXPECT_EQ(notes.of_last(state, JobId(Notes::kJobs_max + 1)), nullptr);
}

TEST(AttemptNotes, ThoseOfJobsThatRunStay) {
  constexpr std::uint64_t kRunning = 100;
  const core::State state = state_of(Notes::kJobs_max + kRunning, kRunning);
  Notes notes;
  std::uint64_t id = 1;
  for (; id <= kRunning; ++id) {  // the first with a note
    notes.take(state, NodeId(1), JobId(id), 2, "runs");
  }
  for (; id <= Notes::kJobs_max + kRunning; ++id) {
    notes.take(state, NodeId(1), JobId(id), 2, "is over");
  }
  for (std::uint64_t running = 1; running <= kRunning; ++running) {
    ASSERT_NE(notes.of_last(state, JobId(running)), nullptr) << running;
  }
  std::size_t kept = 0;
  for (std::uint64_t over = kRunning + 1; over < id; ++over) {
    kept += notes.of_last(state, JobId(over)) == nullptr ? 0 : 1;
  }
  EXPECT_EQ(kept, Notes::kJobs_max - kRunning);
}

}  // namespace
}  // namespace dove::backends
