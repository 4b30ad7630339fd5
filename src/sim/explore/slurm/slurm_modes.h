// SlurmModes: how an administrator joins the simulated Slurm to the ledger, by the seed of the
// exploration.
#pragma once

#include <cstdint>

namespace dove::sim {

struct SlurmModes {
  bool gate = true;        // else all jobs of its users start by themselves, or wait in its queue
  bool yields = false;     // without the gate: ours make room for those that wait
  bool runs_jobs = false;  // jobs of ours may name it
};

inline SlurmModes modes_of(std::uint64_t seed) {
  SlurmModes modes;
  modes.gate = seed % 3 != 0;
  modes.yields = !modes.gate && seed / 3 % 3 != 2;
  modes.runs_jobs = seed % 4 >= 2;
  return modes;
}

}  // namespace dove::sim
