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

class WaitsFor : public testing::Test {
 protected:
  WaitsFor() {
    node.boot_id = machine.boot_id = "boot";
    node.contact = Contact::kSilent;
    node.contact_since = Instant{1'000'000'000};
    node.awaited = true;
    node.agreed = {seconds(5), seconds(300), seconds(3600)};
    state.settings.fence = node.agreed.fence;
    state.settings.disconnect_grace = node.agreed.disconnect_grace;
    state.settings.outage_grace = node.agreed.outage_grace;
  }
  Span after(Span span) const { return waits_for(state, node, machine, node.contact_since + span); }

  core::State state;
  core::Node node;
  protocol::Machine machine;
};

// From the controller's start on, as long as the agent was told that an outage may last.
TEST_F(WaitsFor, AnAwaitedNodeIsCountedOnForWhatIsLeftOfItsGrace) {
  EXPECT_EQ(after({}), seconds(3600));
  EXPECT_EQ(after(seconds(600)), seconds(3000));
  EXPECT_EQ(after(seconds(4000)), Span());
}

TEST_F(WaitsFor, NobodyElseIsToldThat) {
  node.contact = Contact::kBroken;
  EXPECT_EQ(after({}), Span());
  node.contact = Contact::kSilent;
  node.awaited = false;
  EXPECT_EQ(after({}), Span());
  node.awaited = true;
  machine.boot_id = "another";
  EXPECT_EQ(after({}), Span()) << "what it ran has ended";
  machine.boot_id = "boot";
  node.request.action = NodeAction::kExpel;
  EXPECT_EQ(after({}), Span());
  node.request.action = {};
  EXPECT_EQ(after({}), seconds(3600));
  state.settings.disconnect_grace = seconds(10);
  EXPECT_EQ(after({}), Span()) << "its agent holds on to longer terms";
}

}  // namespace
}  // namespace dove::backends
