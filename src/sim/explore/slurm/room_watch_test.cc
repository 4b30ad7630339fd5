#include "sim/explore/slurm/room_watch.h"

#include "sim/explore/slurm/slurm_fixture.h"

namespace dove::sim {
namespace {

// One node of four devices, on which a Slurm without a gate runs a job on each and another waits
// for room, which the ledger has given it.
class RoomWatchTest : public SlurmFixture {
 protected:
  RoomWatchTest() : SlurmFixture(quiet_slurm(1, {.gate = false, .yields = true})) {
    Executor slurm{"slurm", "", {"n1"}, true, {}};
    slurm.yields_to = {kOpen_partition};
    batch({node_with(4), NodeConnected{NodeId(1), "boot"}, ObjectApplied{Declared(slurm)},
           ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""}});
    waiting_ = slurm_.submit_open(5, /*is_urgent=*/false);
    JobSpec spec;
    spec.groups.emplace_back().per_task.gpus = 4;
    spec.executor = "slurm";
    spec.foreign_job = std::to_string(waiting_);
    spec.requeue = true;
    batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}});
  }
  void cycles(int count) {
    for (int i = 0; i < count; ++i) {
      watch_.begins();
      watch_.ends();
    }
  }

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
