// For tests beside a simulated Slurm without faults on one node, n1, of four devices: the ledger's
// state, and the oracle that sees both.
#pragma once

#include <utility>

#include "sim/explore/oracle_fixture.h"
#include "sim/explore/slurm/simulated_slurm.h"

namespace dove::sim {

inline SimulatedSlurmOptions quiet_slurm(std::uint64_t seed = 1, SlurmModes modes = {}) {
  return {.seed = seed,
          .nodes = {"n1"},
          .gpus_per_node = 4,
          .faults_percent = 0,
          .epoch_us = 1'800'000'000'000'000,
          .user = "ada",
          .modes = modes};
}

class SlurmFixture : public OracleFixture {
 protected:
  explicit SlurmFixture(SimulatedSlurmOptions options = quiet_slurm())
      : slurm_(agenda_, oracle_, std::move(options)) {}

  void pass(std::int64_t seconds) {
    bool passed = false;
    agenda_.in(seconds * 1'000'000, [&passed] { passed = true; });
    while (!passed) agenda_.step();
  }

  SimulatedSlurm slurm_;
};

}  // namespace dove::sim
