#include "sim/explore/slurm/hold_watch.h"

#include <gtest/gtest.h>

#include "core/cycle/scheduler.h"
#include "core/state/apply.h"
#include "policies/standard.h"

namespace dove::sim {
namespace {

// Job 1 runs on device 0 of the one node, which a Slurm schedules, too.
class HoldWatchTest : public ::testing::Test {
 protected:
  HoldWatchTest() {
    Inventory inventory;
    inventory.numa.push_back(NumaNode{{0, 1, 2, 3}, 1 << 30});
    NodeRegistered node;
    node.name = "n1";
    node.boot_id = "boot";
    node.inventory = std::make_shared<const Inventory>(inventory);
    batch({node, NodeConnected{NodeId(1), "boot"}});
    JobSpec spec;
    spec.groups.emplace_back().per_task.cores = 1;
    batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}});
    oracle_.task_started(0, TaskFacts{1, 1, 1, 0, {0}, {0}, 1000});
  }
  void batch(std::vector<Event> events) {
    store::Batch made;
    made.at = Instant{++now_};
    core::begin_batch(state_, made.at, Epoch{1});
    for (Event& event : events) {
      made.events.push_back({std::move(event), {}});
      core::apply(state_, made.events.back());
    }
    made.decisions = core::decide(state_, policies::standard_policies());
    oracle_.durable(made, state_);
  }
  // With device 0.
  void hold(const std::string& name, std::int64_t limit_minutes = 0) {
    slurm::Ask ask;
    ask.name = name;
    ask.node = "n1";
    ask.gres = "gpu:g_0:1";
    ask.limit_minutes = limit_minutes;
    ASSERT_TRUE(slurm_.ask(ask).ok());
  }
  void cycles(int count, bool slurm_answers = true) {
    for (int i = 0; i < count; ++i) {
      watch_.begins();
      slurm::CycleEnd end;
      end.slurm_answers = slurm_answers;
      end.controller_answers = true;
      watch_.ends(end, slurm::Look::kAll);
      pass(60);
    }
  }
  void pass(std::int64_t seconds) {
    bool passed = false;
    agenda_.in(seconds * 1'000'000, [&passed] { passed = true; });
    while (!passed) agenda_.step();
  }
  std::string found() const { return oracle_.broken().value_or(""); }
  bool found(const std::string& word) const { return found().find(word) != std::string::npos; }

  Agenda agenda_;
  Trace trace_;
  Oracle oracle_{trace_, agenda_, 1};
  core::State state_;
  std::int64_t now_ = 0;
  SimulatedSlurm slurm_{agenda_,
                        oracle_,
                        {.seed = 1,
                         .nodes = {"n1"},
                         .gpus_per_node = 4,
                         .faults_percent = 0,
                         .epoch_us = 1'800'000'000'000'000,
                         .user = "ada"}};
  HoldWatch watch_{agenda_, slurm_, oracle_};
};

TEST_F(HoldWatchTest, IsContentWithAPlaceholderOfWhatRuns) {
  hold("dove-1.1@dove");
  cycles(8);
  EXPECT_EQ(found(), "");
}

TEST_F(HoldWatchTest, SeesAPlaceholderThatIsLeftAfterItsAttempt) {
  hold("dove-2.1@dove");
  cycles(8, /*slurm_answers=*/false);
  EXPECT_EQ(found(), "") << "the adapter could not release it";
  cycles(1);
  EXPECT_EQ(found(), "") << "the ledger may have heard of the end just now";
  cycles(1);
  EXPECT_TRUE(found("dove-2.1@dove on n1 is there still")) << found();
}

TEST_F(HoldWatchTest, SeesWorkWhoseLostHoldIsNotAskedForAgain) {
  oracle_.hold_lost(1, 1);
  cycles(3);
  EXPECT_EQ(found(), "");
  cycles(1);
  EXPECT_TRUE(found("job 1 runs on n1 with devices that nobody holds")) << found();
}

TEST_F(HoldWatchTest, RequiresNoHoldThatSlurmHasNoRoomFor) {
  oracle_.hold_lost(1, 1);
  hold("dove-1.1@dove");
  cycles(8);
  EXPECT_EQ(found(), "");
}

TEST_F(HoldWatchTest, SeesAPlaceholderThatMeetsItsLimitJustAfterALook) {
  hold("dove-1.1@dove", /*limit_minutes=*/5);
  pass(250);
  cycles(2);
  EXPECT_TRUE(found("met its time limit, though its job 1 runs")) << found();
}

TEST_F(HoldWatchTest, ForgivesALimitThatIsMetWhileNobodyLooks) {
  cycles(1);
  hold("dove-1.1@dove", /*limit_minutes=*/5);
  pass(400);
  EXPECT_EQ(slurm_.held_for_us(), "");
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace dove::sim
