#include "backends/native/sync_plan.h"

#include <gtest/gtest.h>

namespace dove::backends {
namespace {

Inventory with_threads() {
  Inventory inventory;
  inventory.numa = {{{0, 1, 2, 3}, 0}};
  inventory.thread_order = {0, 2, 1, 3};
  inventory.threads_per_core = 2;
  return inventory;
}

TEST(AsKept, WhatTheLogCannotHoldAtItsLevelIsNoNews) {
  core::State state;
  state.level = kFirstLevel;
  core::Node node;
  Inventory plain = with_threads();
  plain.thread_order.clear();
  plain.threads_per_core = 1;
  node.inventory = std::make_shared<const Inventory>(plain);
  EXPECT_EQ(as_kept(state, with_threads()), plain);
  std::vector<Event> events;
  add_inventory(state, node, with_threads(), events);
  EXPECT_TRUE(events.empty());
  state.level = kNewestLevel;
  EXPECT_EQ(as_kept(state, with_threads()), with_threads());
  add_inventory(state, node, with_threads(), events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(*std::get<NodeRegistered>(events[0]).inventory, with_threads());
}

}  // namespace
}  // namespace dove::backends
