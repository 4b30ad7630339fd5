#include "slurm/gate/scheduler_wake.h"

#include <gtest/gtest.h>

#include "slurm/fake_slurm_for_test.h"
#include "slurm/gate/gate_plan.h"

namespace dove::slurm {
namespace {

constexpr const char kConfig[] =
    "Configuration data as of 2026-11-26T20:14:21\n"
    "EpilogMsgTime           = 2000 usec\n"
    "EpilogSlurmctld         = /bin/true\n"
    "Epilog                  = /bin/true\n"
    "SchedulerParameters     = batch_sched_delay=0\n";

// One node has a free core, and commands are answered by `config`.
struct World {
  CommandEnd config{0, kConfig, ""};
  int read = 0;
  FakeSlurm slurm;
  NodeSeen node = slurm.state.nodes[0];
  SchedulerWake wake{
      slurm, "dove", [this](const CommandWanted& wanted) {
        EXPECT_EQ(wanted.words, (std::vector<std::string>{"scontrol", "show", "config"}));
        ++read;
        return Result<CommandEnd>(config);
      }};
};

TEST(SchedulerWake, AnEpilogWakesUnlessItIsDeferred) {
  EXPECT_TRUE(ends_wake(kConfig));
  EXPECT_TRUE(ends_wake("Epilog[0] = /a\n"));
  EXPECT_FALSE(ends_wake("Epilog = (null)\nEpilogSlurmctld = /a\n"));
  EXPECT_FALSE(ends_wake("EpilogSlurmctld = /a\n"));
  EXPECT_FALSE(ends_wake("Epilog = /a\nSchedulerParameters = bf_window=1,defer\n"));
  EXPECT_FALSE(ends_wake(""));
}

TEST(SchedulerWake, HoldsACoreFromPreparingToFiring) {
  World world;
  world.wake.fire();
  world.wake.prepare(world.node, 1000);
  ASSERT_EQ(world.slurm.state.jobs.size(), 1u);
  EXPECT_TRUE(is_fence(world.slurm.state.jobs[0], "dove")) << "a killed adapter's is released";
  EXPECT_TRUE(world.slurm.state.jobs[0].allocations[0].devices.empty());
  world.wake.prepare(world.node, 1000);
  EXPECT_EQ(world.slurm.asked, 1);
  world.wake.fire();
  EXPECT_TRUE(world.slurm.state.jobs.empty());
}

TEST(SchedulerWake, WithoutACoreOrAnAnswerNothingIsDone) {
  World world;
  world.config.code = 1;
  world.wake.prepare(world.node, 1000);
  world.wake.prepare(world.node, 1029);
  EXPECT_EQ(world.read, 1);
  EXPECT_EQ(world.slurm.asked, 0);
  world.config.code = 0;
  world.slurm.refusal = Error{ErrorKind::kConflict, "no_room", "no core is free", ""};
  world.wake.prepare(world.node, 1030);
  EXPECT_EQ(world.read, 2);
  EXPECT_EQ(world.slurm.asked, 1);
  world.wake.fire();
  EXPECT_TRUE(world.slurm.state.jobs.empty());
}

}  // namespace
}  // namespace dove::slurm
