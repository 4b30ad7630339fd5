// HoldWatch: whether the adapter keeps in the simulated Slurm what it should, and no more.
//
// A cycle is clean if Slurm and the controller answered all that it asked. Checked is what clean
// cycles leave behind: no placeholder of an attempt that is over, no fence that nobody needs, no
// device that a task uses and that Slurm could hold for it and does not; and no placeholder of what
// runs meets its time limit just after a look. What it leaves to Slurm's own jobs is RoomWatch's.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/explore/agenda.h"
#include "sim/explore/oracle.h"
#include "sim/explore/slurm/room_watch.h"
#include "sim/explore/slurm/simulated_slurm.h"
#include "slurm/adapter.h"

namespace dove::sim {

class HoldWatch {
 public:
  HoldWatch(const Agenda& agenda, SimulatedSlurm& slurm, Oracle& oracle);

  void begins();
  void ends(const slurm::CycleEnd& end, slurm::Look look);
  // The controller has taken a report of all that Slurm ran when the cycle began.
  void is_told() { oracle_.told_of_foreign(begun_us_); }
  // A placeholder ends within minutes, unless it is given more time.
  bool ends_soon() const;

 private:
  struct Bare {
    std::int64_t since_us = 0;
    int cycles = 0;
  };
  using Work = std::pair<std::string, std::uint64_t>;  // node, job

  bool is_orphan(const slurm::JobSeen& job) const;
  std::set<Work> bare_works() const;
  void check_orphans();
  void check_bare();
  void check_limit(const slurm::JobSeen& job);

  const Agenda& agenda_;
  SimulatedSlurm& slurm_;
  Oracle& oracle_;
  RoomWatch rooms_;
  std::int64_t begun_us_ = 0;
  std::int64_t looked_us_ = -1;  // the begin of the last cycle in which Slurm did all; -1: none
  std::uint64_t troubles_ = 0;
  std::set<std::int64_t> orphans_;             // when the cycle began
  std::map<std::int64_t, int> orphan_cycles_;  // clean ones that left it
  std::set<Work> bare_;                        // when the cycle began
  std::map<Work, Bare> bare_cycles_;
};

}  // namespace dove::sim
