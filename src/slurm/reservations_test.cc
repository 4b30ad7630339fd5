#include "slurm/reservations.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

// As Slurm 22.05 prints them with SLURM_TIME_FORMAT=%s.
constexpr const char kPart[] =
    "ReservationName=part StartTime=1795832764 EndTime=1795836364 "
    "Duration=01:00:00 Nodes=n1 NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=main "
    "Flags=SPEC_NODES  NodeName=n1 CoreIDs=0-1 TRES=cpu=2 Users=root Groups=(null) "
    "Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a "
    "MaxStartDelay=(null) \n";
constexpr std::int64_t kNow_s = 1'795'832'764;
constexpr const char kWhole[] =
    "ReservationName=course StartTime=1795832764 EndTime=1795836364 "
    "Duration=01:00:00 Nodes=n[2-3] NodeCnt=2 CoreCnt=16 Features=(null) PartitionName=(null) "
    "Flags=SPEC_NODES TRES=cpu=16 Users=root Groups=(null) Accounts=(null) Licenses=(null) "
    "State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null) \n";

constexpr const char kTwoNodes[] =
    "ReservationName=parts StartTime=1795832764 EndTime=1795836364 Duration=01:00:00 Nodes=n[2-3] "
    "NodeCnt=2 CoreCnt=4 Features=(null) PartitionName=main Flags=SPEC_NODES TRES=cpu=4 Users=root "
    "Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a "
    "MaxStartDelay=(null) \n";
// `starttime=now+60minutes flags=TIME_FLOAT`, made and read at kNow_s.
constexpr const char kFloats[] =
    "ReservationName=float StartTime=1795836364 EndTime=1795843564 Duration=02:00:00 Nodes=n3 "
    "NodeCnt=1 CoreCnt=8 Features=(null) PartitionName=(null) Flags=SPEC_NODES,TIME_FLOAT "
    "TRES=cpu=8 Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE "
    "BurstBuffer=(null) Watts=n/a MaxStartDelay=(null) \n";

std::vector<NodeSeen> three_nodes() {
  std::vector<NodeSeen> nodes;
  for (const char* name : {"n1", "n2", "n3"}) {
    nodes.emplace_back().name = name;
    nodes.back().is_in_reservation = true;
    nodes.back().cores_per_socket = 8;
  }
  return nodes;
}

std::vector<NodeSeen> seen_with(const std::vector<ReservationSeen>& all,
                                std::vector<NodeSeen> nodes) {
  Reservations reservations;
  reservations.keep(all, nodes, kNow_s);
  Observed seen;
  seen.nodes = std::move(nodes);
  reservations.add_to(seen);
  EXPECT_EQ(seen.reservations.size(), 1u);
  EXPECT_EQ(seen.reservations[0].name, "course");
  EXPECT_EQ(seen.reservations[0].names, (std::vector<std::string>{"n2", "n3"}));
  return seen.nodes;
}

TEST(SlurmReservations, TheyAreReadAgainWhenANodeEntersOne) {
  Reservations reservations;
  auto nodes = three_nodes();
  EXPECT_TRUE(reservations.is_due(nodes)) << "they were never read";
  reservations.keep({}, nodes, kNow_s);
  EXPECT_FALSE(reservations.is_due(nodes));
  nodes[0].is_in_reservation = false;
  EXPECT_TRUE(reservations.is_due(nodes));
}

TEST(SlurmReservations, ThoseOfWholeNodesCount) {
  const auto all = read_reservation_lines(std::string(kPart) + kWhole);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1], (ReservationSeen{"course", "n[2-3]", 1'795'832'764, 1'795'836'364,
                                     /*is_active=*/true, 16}));
  auto nodes = three_nodes();
  nodes[2].is_in_reservation = false;  // as sinfo saw it, which is older
  nodes = seen_with(all, std::move(nodes));
  EXPECT_EQ(nodes[0].reserved, "");
  EXPECT_EQ(nodes[1].reserved, "reserved in Slurm: course until 2026-11-28T03:26:04.000000Z");
  EXPECT_EQ(nodes[2].reserved, "");
}

TEST(SlurmReservations, ThoseToComeCloseNoNodeYet) {
  std::string later = kWhole;
  later.replace(later.find("State=ACTIVE"), 12, "State=INACTIVE");
  const auto all = read_reservation_lines(later);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].is_active);
  for (const NodeSeen& node : seen_with(all, three_nodes())) EXPECT_EQ(node.reserved, "");
}

TEST(SlurmReservations, OnlyKnownNodesMakeOne) {
  auto nodes = three_nodes();
  nodes.resize(1);
  Reservations reservations;
  reservations.keep(read_reservation_lines(kWhole), nodes, kNow_s);
  Observed seen;
  reservations.add_to(seen);
  EXPECT_TRUE(seen.reservations.empty());
}

TEST(SlurmReservations, OfThoseOfSomeCoresSlurmSaysSomeCores) {
  auto all = read_reservation_lines(std::string(kPart) + kTwoNodes);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].cores_of, (std::map<std::string, std::vector<int>>{{"n1", {0, 1}}}));
  EXPECT_TRUE(all[1].cores_of.empty());
  auto nodes = three_nodes();
  Reservations reservations;
  reservations.keep(all, nodes, kNow_s);
  Observed seen;
  seen.nodes = nodes;
  reservations.add_to(seen);
  EXPECT_TRUE(seen.reservations.empty());
  ASSERT_EQ(seen.in_part.size(), 2u);
  EXPECT_EQ(seen.in_part[1].cores, 4);
  EXPECT_EQ(seen.in_part[1].names, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(seen.nodes[0].reserved, "") << "the rest of it is open";
  EXPECT_TRUE(seen.in_part_later.empty());
}

TEST(SlurmReservations, ThoseOfSomeCoresAreKnownBeforeTheyBegin) {
  std::string later = kPart;
  later.replace(later.find("State=ACTIVE"), 12, "State=INACTIVE");
  auto nodes = three_nodes();
  Reservations reservations;
  reservations.keep(read_reservation_lines(later + kTwoNodes), nodes, kNow_s - 600);
  Observed seen;
  seen.nodes = nodes;
  reservations.add_to(seen);
  ASSERT_EQ(seen.in_part.size(), 1u);
  ASSERT_EQ(seen.in_part_later.size(), 1u);
  const ReservationSeen& part = seen.in_part_later[0];
  EXPECT_EQ(part.name, "part");
  EXPECT_EQ(part.starts_s, kNow_s);
  EXPECT_EQ(part.cores_of, (std::map<std::string, std::vector<int>>{{"n1", {0, 1}}}));
  EXPECT_TRUE(seen.reservations.empty());
  reservations.keep(read_reservation_lines(std::string(kPart) + kTwoNodes), nodes, kNow_s);
  reservations.add_to(seen);
  EXPECT_EQ(seen.in_part.size(), 2u);
  EXPECT_TRUE(seen.in_part_later.empty());
}

TEST(SlurmReservations, ListsOfCores) {
  std::string more = kPart;
  more.replace(more.find("NodeName=n1 CoreIDs=0-1"), 23,
               "NodeName=n1 CoreIDs=0,2-3 NodeName=n2 CoreIDs=7");
  EXPECT_EQ(read_reservation_lines(more)[0].cores_of,
            (std::map<std::string, std::vector<int>>{{"n1", {0, 2, 3}}, {"n2", {7}}}));
  for (const char* bad : {"0-", "x", "-1", "0-99999999", "1,,2", ""}) {
    std::string other = kPart;
    other.replace(other.find("0-1 TRES"), 3, bad);
    EXPECT_TRUE(read_reservation_lines(other)[0].cores_of.empty()) << bad;
  }
}

// Slurm starts no job there that would last longer than the hour until it begins.
TEST(SlurmReservations, OneThatFloatsBeginsALittleEarlierThanItWouldAndIsToldSeldom) {
  auto nodes = three_nodes();
  Reservations reservations;
  std::set<std::int64_t> told;
  for (std::int64_t after_s = 0; after_s < 3600; after_s += 10) {
    auto all = read_reservation_lines(kFloats);
    ASSERT_EQ(all.size(), 1u);
    all[0].starts_s += after_s;
    all[0].ends_s += after_s;
    reservations.keep(all, nodes, kNow_s + after_s);
    Observed seen;
    seen.nodes = nodes;
    reservations.add_to(seen);
    ASSERT_EQ(seen.reservations.size(), 1u);
    const ReservationSeen& one = seen.reservations[0];
    EXPECT_LE(one.starts_s, kNow_s + after_s + 3600);
    EXPECT_GT(one.starts_s, kNow_s + after_s + 3600 - 3600 / 8);
    EXPECT_EQ(one.ends_s - one.starts_s, 7200);
    EXPECT_EQ(seen.nodes[2].reserved, "");
    told.insert(one.starts_s);
  }
  EXPECT_EQ(told.size(), 8u);
}

TEST(SlurmReservations, OneThatFloatsOverSomeCoresIsSlurmsToMind) {
  std::string some = kFloats;
  some.replace(some.find("CoreCnt=8"), 9, "CoreCnt=2");
  auto nodes = three_nodes();
  Reservations reservations;
  reservations.keep(read_reservation_lines(some), nodes, kNow_s);
  Observed seen;
  seen.nodes = nodes;
  reservations.add_to(seen);
  EXPECT_TRUE(seen.reservations.empty());
  EXPECT_TRUE(seen.in_part.empty());
  EXPECT_TRUE(seen.in_part_later.empty());
}

// Slurm lets those in for whom it is, and everybody on cores that are not reserved.
TEST(SlurmReservations, MaintenanceIsAReservationLikeOthers) {
  auto nodes = three_nodes();
  for (NodeSeen& node : nodes) node.is_in_maintenance = true;
  const auto states = [&](const std::string& lines) {
    Reservations reservations;
    reservations.keep(read_reservation_lines(lines), nodes, kNow_s);
    Observed seen;
    seen.nodes = nodes;
    reservations.add_to(seen);
    std::vector<bool> up;
    for (const NodeSeen& node : seen.nodes) up.push_back(node.state == NodeSeen::State::kUp);
    return up;
  };
  EXPECT_EQ(states(std::string(kPart) + kWhole), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(states(kPart), (std::vector<bool>{true, false, false})) << "nothing explains it";
  nodes[1].state = NodeSeen::State::kDown;
  EXPECT_EQ(states(std::string(kPart) + kWhole), (std::vector<bool>{true, false, true}));
}

TEST(SlurmReservations, WhatSaysNothingIsPassedOver) {
  EXPECT_TRUE(read_reservation_lines("No reservations in the system\n").empty());
  EXPECT_TRUE(read_reservation_lines("Nodes=").empty());
  std::string dated = kWhole;
  dated.replace(dated.find("1795836364"), 10, "tomorrow");
  EXPECT_TRUE(read_reservation_lines(dated).empty()) << "when it ends is not known";
}

}  // namespace
}  // namespace dove::slurm
