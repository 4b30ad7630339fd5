#include "slurm/reservations.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

// As Slurm 22.05 prints them.
constexpr const char kPart[] =
    "ReservationName=part StartTime=2026-11-28T02:26:04 EndTime=2026-11-28T03:26:04 "
    "Duration=01:00:00 Nodes=n1 NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=main "
    "Flags=SPEC_NODES  NodeName=n1 CoreIDs=0-1 TRES=cpu=2 Users=root Groups=(null) "
    "Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a "
    "MaxStartDelay=(null) \n";
constexpr const char kWhole[] =
    "ReservationName=course StartTime=2026-11-28T02:26:04 EndTime=2026-11-28T03:26:04 "
    "Duration=01:00:00 Nodes=n[2-3] NodeCnt=2 CoreCnt=16 Features=(null) PartitionName=(null) "
    "Flags=SPEC_NODES TRES=cpu=16 Users=root Groups=(null) Accounts=(null) Licenses=(null) "
    "State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null) \n";

std::vector<NodeSeen> three_nodes() {
  std::vector<NodeSeen> nodes;
  for (const char* name : {"n1", "n2", "n3"}) {
    nodes.emplace_back().name = name;
    nodes.back().is_in_reservation = true;
  }
  return nodes;
}

TEST(SlurmReservations, ThoseOfWholeNodesCount) {
  auto nodes = three_nodes();
  nodes[2].is_in_reservation = false;  // as sinfo saw it, which is older
  note_reservations(std::string(kPart) + kWhole, nodes);
  EXPECT_EQ(nodes[0].reserved, "");
  EXPECT_EQ(nodes[1].reserved, "reserved in Slurm: course until 2026-11-28T03:26:04");
  EXPECT_EQ(nodes[2].reserved, "");
}

TEST(SlurmReservations, ThoseToComeDoNot) {
  auto nodes = three_nodes();
  std::string later = kWhole;
  later.replace(later.find("State=ACTIVE"), 12, "State=INACTIVE");
  note_reservations(later, nodes);
  note_reservations("No reservations in the system\n", nodes);
  note_reservations("Nodes=", nodes);
  for (const NodeSeen& node : nodes) EXPECT_EQ(node.reserved, "");
}

}  // namespace
}  // namespace dove::slurm
