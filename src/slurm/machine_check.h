// Whether Slurm and our agents see the same machine: cores are identified by number, so both have
// to count them alike.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slurm/observed.h"

namespace dove::slurm {

// What the ledger knows of some nodes with agents.
struct Machine {
  std::vector<std::string> nodes;  // names
  int cores = 0;                   // physical
  int threads_per_core = 1;
  int cores_reserved = 0;  // threads, that no job of ours gets
};

struct MachineFindings {
  // By node: why nothing may be placed there, with the remedy. By other numbers the same core could
  // be given twice.
  std::map<std::string, std::string> closed;
  // What is to be put right, with the remedy. Nothing is given twice for it.
  std::set<std::string> warnings;
};

// Pure.
MachineFindings check_machines(const std::vector<NodeSeen>& nodes,
                               const std::vector<Machine>& machines);

// The findings of the last look; what is new is logged. One thread.
class MachineCheck {
 public:
  // Whenever the ledger has said what it knows, and whenever Slurm has shown its nodes.
  void look(const std::vector<NodeSeen>& nodes, std::vector<Machine> machines) {
    machines_ = std::move(machines);
    look(nodes);
  }
  void look(const std::vector<NodeSeen>& nodes);
  // The node as it is to be reported: drained where nothing may be placed.
  void close(NodeSeen& node) const;

 private:
  MachineFindings found_;
  std::vector<Machine> machines_;
};

}  // namespace dove::slurm
