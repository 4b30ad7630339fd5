// What Slurm 24.11 printed.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "slurm/recorded_newer_for_test.h"
#include "slurm/slurm_json.h"
#include "slurm/slurm_version.h"

namespace dove::slurm {
namespace {

constexpr std::int64_t kNewerMebibyte = 1 << 20;

std::vector<NodeSeen> newer_nodes() { return read_nodes(kNewerNodes).value(); }
std::vector<JobSeen> newer_jobs() { return read_jobs(kNewerJobs, newer_nodes()).value(); }

TEST(NewerSlurmJson, Nodes) {
  const std::vector<NodeSeen> nodes = newer_nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "n0");
  EXPECT_EQ(nodes[0].state, NodeSeen::State::kUp);
  EXPECT_TRUE(nodes[0].registered);
  EXPECT_EQ(nodes[0].device_types,
            (std::vector<std::string>{"h200_0", "h200_1", "h200_2", "h200_3"}));
  EXPECT_EQ(nodes[0].partitions, std::vector<std::string>{"main"});
  EXPECT_EQ(nodes[0].cores_per_socket, 8);
  EXPECT_EQ(nodes[0].cpus_per_core, 1);
  EXPECT_EQ(nodes[0].cores_set_aside, 0);
  EXPECT_EQ(nodes[0].memory_bytes, 16000 * kNewerMebibyte);
  EXPECT_EQ(nodes[1].state, NodeSeen::State::kDrained);
  EXPECT_EQ(nodes[1].reason, "bad fan");
}

// sinfo prints them since 23.02: several nodes of one state may be one of them.
TEST(NewerSlurmJson, GroupsOfNodesAreNoNodes) {
  const auto nodes = read_nodes(kNewerGroups);
  ASSERT_FALSE(nodes.ok());
  EXPECT_NE(nodes.error().message.find("no list 'nodes'"), std::string::npos);
}

TEST(NewerSlurmJson, JobsWithWhatTheyHoldOnEachNode) {
  const std::vector<JobSeen> jobs = newer_jobs();
  ASSERT_EQ(jobs.size(), 7u);
  const JobSeen& train = jobs[0];
  EXPECT_EQ(train.id, 1);
  EXPECT_EQ(train.name, "train");
  EXPECT_EQ(train.user, "root");
  EXPECT_EQ(train.partition, "main");
  EXPECT_EQ(train.phase, JobPhase::kHolding);
  EXPECT_EQ(train.ends_s - train.started_s, 3600);
  EXPECT_EQ(train.allocations,
            (std::vector<NodeAllocation>{{"n0", {0, 1}, {0}, 1024 * kNewerMebibyte}}));
  EXPECT_TRUE(train.may_requeue);
  EXPECT_EQ(train.handle, "1");
  const JobSeen& two = jobs[1];
  EXPECT_EQ(two.ends_s, 0) << "it has no time limit";
  EXPECT_EQ(two.allocations, (std::vector<NodeAllocation>{{"n0", {2}, {1}, 100 * kNewerMebibyte},
                                                          {"n1", {0}, {0}, 100 * kNewerMebibyte}}));
}

TEST(NewerSlurmJson, JobsThatAreOverEndOrWait) {
  const std::vector<JobSeen> jobs = newer_jobs();
  EXPECT_EQ(jobs[2].phase, JobPhase::kEnded);
  EXPECT_EQ(jobs[3].phase, JobPhase::kEnding) << jobs[3].state;
  EXPECT_TRUE(jobs[3].wants_devices);
  EXPECT_FALSE(jobs[3].devices_known);
  ASSERT_EQ(jobs[3].allocations.size(), 1u);
  EXPECT_EQ(jobs[3].allocations[0].node, "n1");
  const JobSeen& waits = jobs[5];
  EXPECT_EQ(waits.phase, JobPhase::kWaiting);
  EXPECT_EQ(waits.reason, kLacksRoom);
  ASSERT_TRUE(waits.asks.has_value());
  EXPECT_EQ(waits.asks->nodes, 2);
  EXPECT_EQ(waits.asks->cpus, 4);
  EXPECT_EQ(waits.asks->gpus_per_node, 4);
  EXPECT_EQ(waits.asks->memory_per_node, 1024 * kNewerMebibyte);
  EXPECT_EQ(jobs[6].phase, JobPhase::kWaiting);
}

TEST(NewerSlurmJson, APlaceholderWithItsMark) {
  const JobSeen placeholder = newer_jobs()[4];
  EXPECT_EQ(placeholder.name, "dove-17.2@dove");
  EXPECT_EQ(placeholder.mark, "dovetail dove-17.2@dove");
  EXPECT_EQ(placeholder.user, "nobody");
  EXPECT_EQ(placeholder.allocations,
            (std::vector<NodeAllocation>{{"n0", {3, 4}, {2}, 4096 * kNewerMebibyte}}));
}

TEST(NewerSlurmJson, Reservations) {
  const auto all = read_reservations(kNewerReservations);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->at(0).name, "course");
  EXPECT_EQ(all->at(0).nodes, "n1");
  EXPECT_EQ(all->at(0).ends_s - all->at(0).starts_s, 3600);
  EXPECT_FALSE(all->at(0).floats);
  EXPECT_EQ(all->at(1).cores, 2);
}

TEST(SlurmVersion, OfTheCommands) {
  EXPECT_EQ(*read_version("slurm-wlm 22.05.8\n"), (SlurmVersion{22, 5}));
  EXPECT_EQ(*read_version("slurm 24.11.5\n"), (SlurmVersion{24, 11}));
  EXPECT_EQ(*read_version("slurm 25.05.0-0rc1"), (SlurmVersion{25, 5}));
  for (const char* const other : {"", "slurm", "sinfo: error", "slurm 24", "slurm 24."}) {
    EXPECT_EQ(read_version(other).error().code, "slurm_version") << other;
  }
}

TEST(SlurmVersion, WhatPrintsEveryNode) {
  EXPECT_EQ((SlurmVersion{22, 5}).nodes_command(), (std::vector<std::string>{"sinfo", "--json"}));
  EXPECT_EQ((SlurmVersion{23, 2}).nodes_command(),
            (std::vector<std::string>{"scontrol", "show", "nodes", "--json"}));
}

}  // namespace
}  // namespace dove::slurm
