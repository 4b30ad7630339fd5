// RoomWatch: whether the room that the ledger makes for jobs that wait in the simulated Slurm is
// theirs to take (docs/decisions/0047-room-for-jobs-of-slurm.md).
//
// Checked is what clean cycles leave behind (hold_watch.h): nothing of ours holds a device of a
// room, nor waits for one; and no room is kept for a job that does not wait any more. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/explore/oracle.h"
#include "sim/explore/slurm/simulated_slurm.h"

namespace dove::sim {

class RoomWatch {
 public:
  RoomWatch(const SimulatedSlurm& slurm, Oracle& oracle) : slurm_(slurm), oracle_(oracle) {}

  void begins() { before_ = oracle_.rooms(); }
  // A clean cycle.
  void ends();

 private:
  // What is wrong with it; "": nothing.
  std::string trouble_of(const Oracle::Room& room) const;

  const SimulatedSlurm& slurm_;
  Oracle& oracle_;
  std::vector<Oracle::Room> before_;  // when the cycle began
  // By job and attempt: the cycles that left it wrong.
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> cycles_;
};

}  // namespace dove::sim
