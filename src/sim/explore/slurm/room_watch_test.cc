#include "sim/explore/slurm/room_watch.h"

#include <gtest/gtest.h>

#include "core/cycle/scheduler.h"
#include "core/state/apply.h"
#include "policies/standard.h"

namespace dove::sim {
namespace {

// One node of four devices, on which a Slurm without a gate runs a job on each and another waits
// for room, which the ledger has given it.
class RoomWatchTest : public ::testing::Test {
 protected:
  RoomWatchTest() {
    Inventory inventory;
    inventory.numa.push_back(NumaNode{{0, 1, 2, 3}, std::int64_t{1} << 40});
    inventory.devices.resize(4);
    NodeRegistered node;
    node.name = "n1";
    node.boot_id = "boot";
    node.inventory = std::make_shared<const Inventory>(inventory);
    Executor slurm{"slurm", "", {"n1"}, true, {}};
    slurm.yields_to = {kOpen_partition};
    batch({node, NodeConnected{NodeId(1), "boot"}, ObjectApplied{Declared(slurm)},
           ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""}});
    waiting_ = slurm_.submit_open(5, /*is_urgent=*/false);
    JobSpec spec;
    spec.groups.emplace_back().per_task.gpus = 4;
    spec.executor = "slurm";
    spec.foreign_job = std::to_string(waiting_);
    spec.requeue = true;
    batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}});
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
  void cycles(int count) {
    for (int i = 0; i < count; ++i) {
      watch_.begins();
      watch_.ends();
    }
  }
  void pass(std::int64_t seconds) {
    bool passed = false;
    agenda_.in(seconds * 1'000'000, [&passed] { passed = true; });
    while (!passed) agenda_.step();
  }
  bool found(const std::string& word) const {
    return oracle_.broken().value_or("").find(word) != std::string::npos;
  }

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
                         .user = "ada",
                         .modes = {.gate = false, .yields = true}}};
  RoomWatch watch_{slurm_, oracle_};
  std::int64_t waiting_ = 0;
};

TEST_F(RoomWatchTest, IsContentWithARoomThatIsFree) {
  ASSERT_EQ(oracle_.rooms().size(), 1u);
  EXPECT_EQ(oracle_.rooms()[0].devices.size(), 4u);
  cycles(8);
  EXPECT_EQ(oracle_.broken(), std::nullopt);
}

TEST_F(RoomWatchTest, SeesWhatOfOursIsLeftInARoom) {
  slurm::Ask fence;
  fence.name = "dove-keep-n1.2@dove";
  fence.node = "n1";
  fence.gres = "gpu:g_2:1";
  ASSERT_TRUE(slurm_.ask(fence).ok());
  cycles(3);
  EXPECT_EQ(oracle_.broken(), std::nullopt) << "it may be on its way";
  cycles(1);
  EXPECT_TRUE(found("where dove-keep-n1.2@dove of ours holds a device of it"));
}

TEST_F(RoomWatchTest, SeesARoomOfOneThatDoesNotWait) {
  slurm_.user_cancels(waiting_);
  cycles(3);
  EXPECT_EQ(oracle_.broken(), std::nullopt);
  cycles(1);
  EXPECT_TRUE(found("which does not wait any more"));
}

}  // namespace
}  // namespace dove::sim
