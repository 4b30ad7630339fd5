// For tests of the oracle: a ledger's state, whose batches it is told.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cycle/scheduler.h"
#include "core/state/apply.h"
#include "policies/standard.h"
#include "sim/explore/agenda.h"
#include "sim/explore/oracle.h"

namespace dove::sim {

class OracleFixture : public ::testing::Test {
 protected:
  // Named n1, with four cores.
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
  void batch(std::vector<Event> events, const std::string& key = "") {
    store::Batch made;
    made.at = Instant{++now_};
    core::begin_batch(state_, made.at, Epoch{1});
    for (Event& event : events) {
      made.events.push_back({std::move(event), {}});
      made.events.back().cause.idempotency_key = key;
      core::apply(state_, made.events.back());
    }
    made.decisions = core::decide(state_, policies::standard_policies());
    oracle_.durable(made, state_);
  }
  std::string found() const { return oracle_.broken().value_or(""); }
  bool found(const std::string& word) const { return found().find(word) != std::string::npos; }

  Agenda agenda_;
  Trace trace_;
  Oracle oracle_{trace_, agenda_, 1};
  core::State state_;
  std::int64_t now_ = 0;
};

}  // namespace dove::sim
