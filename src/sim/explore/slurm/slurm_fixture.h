// For tests beside a simulated Slurm without faults on one node, n1, of four devices: the ledger's
// state, and the oracle that sees both.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/cycle/scheduler.h"
#include "core/state/apply.h"
#include "policies/standard.h"
#include "sim/explore/agenda.h"
#include "sim/explore/oracle.h"
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

class SlurmFixture : public ::testing::Test {
 protected:
  explicit SlurmFixture(SimulatedSlurmOptions options = quiet_slurm())
      : slurm_(agenda_, oracle_, std::move(options)) {}

  // `devices`: of those, how many the ledger knows.
  static NodeRegistered node_with(int devices) {
    Inventory inventory;
    inventory.numa.push_back(NumaNode{{0, 1, 2, 3}, std::int64_t{1} << 40});
    inventory.devices.resize(static_cast<std::size_t>(devices));
    NodeRegistered node;
    node.name = "n1";
    node.boot_id = "boot";
    node.inventory = std::make_shared<const Inventory>(inventory);
    return node;
  }
  // What the ledger is told and decides then.
  void batch(std::vector<Event> events) {
    store::Batch made;
    made.at = Instant{++now_};
    core::begin_batch(state_, made.at, Epoch{1});
    for (Event& event : events) {
      made.events.push_back({std::move(event), {}});
      core::apply(state_, made.events.back());
    }
    made.decisions = core::decide(state_, policies::standard_policies());
    oracle_.durable(made, state_);
  }
  void pass(std::int64_t seconds) {
    bool passed = false;
    agenda_.in(seconds * 1'000'000, [&passed] { passed = true; });
    while (!passed) agenda_.step();
  }
  std::string found() const { return oracle_.broken().value_or(""); }
  bool found(const std::string& word) const { return found().find(word) != std::string::npos; }

  Agenda agenda_;
  Trace trace_;
  Oracle oracle_{trace_, agenda_, 1};
  core::State state_;
  std::int64_t now_ = 0;
  SimulatedSlurm slurm_;
};

}  // namespace dove::sim
