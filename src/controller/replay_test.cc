#include "controller/replay.h"

#include <gtest/gtest.h>

#include "codec/record.h"
#include "controller/controller_fixture.h"
#include "core/cycle/cycle.h"
#include "policies/standard.h"
#include "store/memory/memory_store.h"

namespace dove::controller {
namespace {

// As if somebody had changed a recorded decision.
class ForgedLog : public FaultyLog {
 public:
  using FaultyLog::FaultyLog;
  Result<void> read(Seq after, const std::function<bool(const store::Batch&)>& visit) override {
    return FaultyLog::read(after, [&](const store::Batch& batch) {
      store::Batch forged = batch;
      for (Decision& decision : forged.decisions) {
        if (auto* launch = std::get_if<Launch>(&decision)) launch->attempt += 1;
      }
      forged.decisions_digest = codec::digest_decisions(forged.decisions);
      return visit(forged);
    });
  }
};

void live_a_little(store::MemoryStore& store) {
  FakeBackend backend;
  Controller controller(store, store, backend, test_options(policies::standard_policies()));
  ASSERT_TRUE(controller.open().ok());
  controller.start();
  const NodeId node = add_node(controller, "n1", 1);
  for (int i = 0; i < 8; ++i) {
    const auto answer = submit_and_wait(controller, submission(small_job()));
    ASSERT_TRUE(answer.ok());
    const JobId job = answer->first_job;
    if (i % 2 == 0) continue;
    ASSERT_TRUE(submit_and_wait(controller, PlacementStarted{job, 1, node}).ok());
    ASSERT_TRUE(submit_and_wait(controller, PlacementEnded{job, 1, node, {TaskExit{}}, 0, 0}).ok());
  }
  controller.stop();
}

ReplayOptions options() {
  ReplayOptions made;
  made.policies = &policies::standard_policies();
  made.policy_digest = core::policy_digest(*made.policies);
  return made;
}

TEST(Replay, DecidesAsItWasDecided) {
  store::MemoryStore store;
  live_a_little(store);
  const auto report = replay_verify(store, std::nullopt, options());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->clean()) << *report->first_difference;
  EXPECT_EQ(report->unverified_batches, 0u);
  EXPECT_GT(report->decisions, 8u);
  EXPECT_GT(report->hashes_compared, 0u);
  EXPECT_EQ(report->last, store.head().seq);
}

TEST(Replay, TellsTheFirstDifferenceInWords) {
  store::MemoryStore store;
  live_a_little(store);
  ForgedLog forged(store);
  const auto report = replay_verify(forged, std::nullopt, options());
  ASSERT_TRUE(report.ok());
  ASSERT_FALSE(report->clean());
  EXPECT_NE(report->first_difference->find("recorded Launch"), std::string::npos)
      << *report->first_difference;
  EXPECT_NE(report->first_difference->find("record "), std::string::npos);
}

TEST(Replay, FoldsWhatOtherPoliciesDecided) {
  store::MemoryStore store;
  live_a_little(store);
  ReplayOptions other = options();
  other.policy_digest = "another";
  const auto report = replay_verify(store, std::nullopt, other);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->clean());
  EXPECT_EQ(report->verified_batches, 0u);
  EXPECT_EQ(report->unverified_batches, report->batches);
}

TEST(Replay, BeginsAtASnapshot) {
  store::MemoryStore store;
  live_a_little(store);
  const auto snapshot = store.latest_snapshot().value();
  ASSERT_TRUE(snapshot.has_value());
  const auto report = replay_verify(store, snapshot, options());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->clean());
  EXPECT_EQ(report->last, store.head().seq);
}

}  // namespace
}  // namespace dove::controller
