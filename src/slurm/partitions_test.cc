#include "slurm/partitions.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

using Names = std::vector<std::string>;

// Two of a real Slurm (22.05), shortened.
constexpr const char kLines[] =
    "PartitionName=short AllowGroups=ALL AllowAccounts=ALL AllocNodes=ALL Default=YES "
    "DefaultTime=NONE ExclusiveUser=NO Hidden=NO MaxNodes=UNLIMITED MaxTime=02:00:00 Nodes=n[0-3] "
    "PriorityJobFactor=1 PriorityTier=10 OverSubscribe=NO PreemptMode=OFF State=UP TotalCPUs=16\n"
    "PartitionName=whole MaxTime=UNLIMITED Nodes=n0 PriorityTier=30 OverSubscribe=EXCLUSIVE "
    "State=UP\n";

PartitionSeen partition(const char* name, std::int64_t limit_minutes, std::int64_t tier = 1) {
  PartitionSeen one;
  one.name = name;
  one.limit_minutes = limit_minutes;
  one.tier = tier;
  return one;
}

Ask ask_for(std::int64_t limit_minutes) {
  Ask ask;
  ask.partitions = {"a", "b", "c"};
  ask.limit_minutes = limit_minutes;
  return ask;
}

TEST(Partitions, AreRead) {
  const std::vector<PartitionSeen> all = read_partition_lines(kLines);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "short");
  EXPECT_EQ(all[0].limit_minutes, 120);
  EXPECT_EQ(all[0].tier, 10);
  EXPECT_TRUE(all[0].is_up);
  EXPECT_FALSE(all[0].gives_whole_nodes);
  EXPECT_EQ(all[1].limit_minutes, 0);
  EXPECT_TRUE(all[1].gives_whole_nodes);
}

TEST(Partitions, ThoseThatAllowTheLimit) {
  const std::vector<Ask> asks =
      ask_in_partitions(ask_for(0), {partition("a", 60), partition("b", 0), partition("x", 0)});
  ASSERT_EQ(asks.size(), 1u);
  EXPECT_EQ(asks[0].partitions, Names{"b"});
  EXPECT_EQ(asks[0].limit_minutes, 0);
}

TEST(Partitions, WhereNoneAllowsItTheMostThatOneDoes) {
  for (const std::int64_t wanted : {0, 5000}) {
    const std::vector<Ask> asks =
        ask_in_partitions(ask_for(wanted), {partition("a", 60), partition("b", 1440)});
    ASSERT_EQ(asks.size(), 1u);
    EXPECT_EQ(asks[0].partitions, Names{"b"});
    EXPECT_EQ(asks[0].limit_minutes, 1440);
  }
}

TEST(Partitions, TheHighestTierComesFirst) {
  const std::vector<Ask> asks =
      ask_in_partitions(ask_for(30), {partition("a", 60), partition("b", 20, 9)});
  ASSERT_EQ(asks.size(), 2u);
  EXPECT_EQ(asks[0].partitions, Names{"b"});
  EXPECT_EQ(asks[0].limit_minutes, 20);
  EXPECT_EQ(asks[1].partitions, Names{"a"});
  EXPECT_EQ(asks[1].limit_minutes, 30);
}

TEST(Partitions, NeverOneThatIsDownOrGivesWholeNodes) {
  std::vector<PartitionSeen> known = {partition("a", 0, 9), partition("b", 0, 8),
                                      partition("c", 0)};
  known[0].gives_whole_nodes = true;
  known[1].is_up = false;
  const std::vector<Ask> asks = ask_in_partitions(ask_for(30), known);
  ASSERT_EQ(asks.size(), 1u);
  EXPECT_EQ(asks[0].partitions, Names{"c"});
}

TEST(Partitions, WhatIsNotKnownIsAskedForAsItIs) {
  const std::vector<Ask> asks = ask_in_partitions(ask_for(30), {});
  ASSERT_EQ(asks.size(), 1u);
  EXPECT_EQ(asks[0].partitions, (Names{"a", "b", "c"}));
  EXPECT_EQ(asks[0].limit_minutes, 30);
}

}  // namespace
}  // namespace dove::slurm
