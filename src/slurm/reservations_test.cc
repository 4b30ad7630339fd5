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
constexpr const char kWhole[] =
    "ReservationName=course StartTime=1795832764 EndTime=1795836364 "
    "Duration=01:00:00 Nodes=n[2-3] NodeCnt=2 CoreCnt=16 Features=(null) PartitionName=(null) "
    "Flags=SPEC_NODES TRES=cpu=16 Users=root Groups=(null) Accounts=(null) Licenses=(null) "
    "State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null) \n";

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
  reservations.keep(all, nodes);
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
  reservations.keep({}, nodes);
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
  reservations.keep(read_reservation_lines(kWhole), nodes);
  Observed seen;
  reservations.add_to(seen);
  EXPECT_TRUE(seen.reservations.empty());
}

TEST(SlurmReservations, OneThatFloatsKeepsNobodyOff) {
  std::string floats = kWhole;
  floats.replace(floats.find("Flags=SPEC_NODES"), 16, "Flags=SPEC_NODES,TIME_FLOAT");
  EXPECT_TRUE(read_reservation_lines(floats).empty());
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
