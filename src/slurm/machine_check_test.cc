#include "slurm/machine_check.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

NodeSeen node(const char* name, int cores, int cpus_per_core = 1) {
  NodeSeen made;
  made.name = name;
  made.sockets = 2;
  made.cores_per_socket = cores / 2;
  made.cpus_per_core = cpus_per_core;
  made.partitions = {"main"};
  return made;
}

TEST(MachineCheck, TheSameMachineIsNoFinding) {
  const MachineFindings found =
      check_machines({node("n1", 8, 2), node("n2", 8, 2)}, {{{"n1", "n2"}, 8, 2, 0}});
  EXPECT_TRUE(found.closed.empty());
  EXPECT_TRUE(found.warnings.empty());
}

// Cores of several threads and of one: the agent counts threads, Slurm cores.
TEST(MachineCheck, ANodeWhoseCoresAreCountedInAnotherWayIsClosed) {
  const std::vector<NodeSeen> nodes{node("n1", 8), node("n2", 8)};
  const std::vector<Machine> machines{{{"n1", "gone"}, 12, 1, 0}, {{"n2"}, 8, 1, 0}};
  const MachineFindings found = check_machines(nodes, machines);
  ASSERT_EQ(found.closed.size(), 1u);
  EXPECT_NE(found.closed.at("n1").find("Slurm counts 8 cores there and the agent 12"),
            std::string::npos);
  MachineCheck check;
  check.look(nodes, machines);
  NodeSeen closed = nodes[0];
  check.close(closed);
  EXPECT_EQ(closed.state, NodeSeen::State::kDrained);
  EXPECT_NE(closed.reason.find("slurmd -C"), std::string::npos);
  NodeSeen open = nodes[1];
  check.close(open);
  EXPECT_EQ(open.state, NodeSeen::State::kUp);
  NodeSeen down = nodes[0];
  down.state = NodeSeen::State::kDown;
  check.close(down);
  EXPECT_EQ(down.state, NodeSeen::State::kDown);
}

TEST(MachineCheck, ReservedCoresThatSlurmDoesNotKeepAreSaidWithTheSetting) {
  NodeSeen kept = node("n3", 8, 2);
  kept.cores_set_aside = 2;
  const MachineFindings found =
      check_machines({node("n1", 8, 2), node("n2", 8, 2), kept}, {{{"n1", "n2", "n3"}, 8, 2, 3}});
  EXPECT_TRUE(found.closed.empty());
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_NE(found.warnings.begin()->find("n[1-2]"), std::string::npos);
  EXPECT_NE(found.warnings.begin()->find("CoreSpecCount=2"), std::string::npos);
}

TEST(MachineCheck, NodesOfOnePartitionHaveAsManyThreadsOfACore) {
  NodeSeen other = node("n2", 8, 1);
  EXPECT_EQ(check_machines({node("n1", 8, 2), other}, {}).warnings.size(), 1u);
  other.partitions = {"plain"};
  EXPECT_TRUE(check_machines({node("n1", 8, 2), other}, {}).warnings.empty());
}

}  // namespace
}  // namespace dove::slurm
