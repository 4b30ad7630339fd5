// An adapter whose jobs of others come through a gate.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "slurm/adapter.h"
#include "slurm/fake_slurm_for_test.h"
#include "slurm/gate/gate_keeper.h"

namespace dove::slurm {
namespace {

class IdleControl : public GateControl {
 public:
  Result<void> place(const std::string&, const GatePlacing&) override { return {}; }
  Result<void> let_go(const std::string&) override { return {}; }
  Result<void> put_back(const std::string&, const GatePutBack&) override { return {}; }
  Result<void> say(const std::string&, const std::string&) override { return {}; }
  Result<void> mark(const std::string&, const std::string&) override { return {}; }
};

// Else it would place a job beside what has just ended.
TEST(AdapterWithGate, TheLedgerHearsWhatIsFreeBeforeWhoWaits) {
  FakeSlurm slurm;
  IdleControl control;
  std::vector<std::string> calls;
  GateKeeper keeper(
      slurm, control,
      [&](const GateRequest&, const std::vector<NodeSeen>&) {
        calls.emplace_back("waiting");
        return Result<std::vector<GateJob>>(std::vector<GateJob>());
      },
      nullptr, "dove", "a1");
  bool controller_answers = true;
  Adapter adapter(
      slurm,
      [&](const SyncRequest&) -> Result<SyncAnswer> {
        calls.emplace_back("sync");
        if (!controller_answers) return Error{ErrorKind::kUnavailable, "refused", "", ""};
        return SyncAnswer{};
      },
      [] { return kStart_us; }, AdapterOptions{}, nullptr, &keeper);
  using Calls = std::vector<std::string>;
  adapter.cycle();
  EXPECT_EQ(calls, (Calls{"sync", "waiting"}));
  calls.clear();
  adapter.cycle(Look::kNone);
  EXPECT_EQ(calls, Calls{"sync"}) << "nothing was looked at";
  calls.clear();
  controller_answers = false;
  adapter.cycle();
  EXPECT_EQ(calls, Calls{"sync"});
}

// The controller looks at nothing of a first report to it, and Slurm is silent at the second. An
// end of the placeholder alone would leave the work running for ever.
TEST(AdapterWithGate, TheEndOfAWorkIsSaidAsOftenAsThatOfItsPlaceholder) {
  FakeSlurm slurm;
  IdleControl control;
  GateKeeper keeper(
      slurm, control,
      [](const GateRequest&, const std::vector<NodeSeen>&) {
        return Result<std::vector<GateJob>>(std::vector<GateJob>());
      },
      nullptr, "dove", "a1");
  SyncAnswer answer;
  answer.version = 1;
  Wanted& wanted = answer.wanted.emplace_back();
  wanted.key = {17, 1, "n1"};
  wanted.foreign_job = "254";
  WantedWork& work = answer.works.emplace_back();
  work.key = wanted.key;
  work.foreign_job = wanted.foreign_job;
  work.ranks = {0};
  std::vector<SyncRequest> requests;
  Adapter adapter(
      slurm,
      [&](const SyncRequest& request) -> Result<SyncAnswer> {
        requests.push_back(request);
        return answer;
      },
      [] { return kStart_us; }, AdapterOptions{}, nullptr, &keeper);
  adapter.cycle();
  adapter.cycle();
  slurm.silent = true;
  adapter.cycle();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_FALSE(requests.back().complete);
  for (const SyncRequest& one : {requests[1], requests[2]}) {
    ASSERT_EQ(one.placeholders.size(), 1u);
    EXPECT_EQ(one.placeholders[0].state, PlaceholderState::kEnded);
    ASSERT_EQ(one.works.size(), 1u);
    EXPECT_TRUE(one.works[0].has_ended);
  }
}

}  // namespace
}  // namespace dove::slurm
