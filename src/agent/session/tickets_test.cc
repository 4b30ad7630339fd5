// The first of a session's two syncs, and what its answer tells (api/agent-protocol.md).
#include <gtest/gtest.h>

#include "agent/session/session_test_bed.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

class TicketsTest : public SessionTestBed {};

TEST_F(TicketsTest, AsksForATicketAndSyncsWithIt) {
  controller_.gives_tickets = true;
  connect_agent();
  ASSERT_EQ(controller_.syncs.size(), 2u);
  EXPECT_EQ(controller_.syncs[0]["ticket"], "");
  EXPECT_EQ(controller_.syncs[1]["ticket"], "ticket-1");
  EXPECT_TRUE(agent_->connected());
}

// As with a controller that has begun to lead after a break that the former one saw.
TEST_F(TicketsTest, AnAwaitedNodeIsCountedOnAtOnceAndSyncsInItsTurn) {
  controller_.gives_tickets = true;
  connect_agent();
  const Json spread{
      {"ticket", "ticket-1"}, {"epoch", 5}, {"waits_us", 60'000'000}, {"sync_after_us", 1'000'000}};
  controller_.ticket_answer = spread.dump();
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 3; }));
  const std::size_t before = renewals_.size();
  EXPECT_TRUE(until([&] { return renewals_.size() >= before + 3; }));
  EXPECT_EQ(controller_.syncs.size(), 3u) << "its turn has not come";
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_EQ(controller_.syncs.size(), 4u);
}

// Another one may lead by the time that it is sent.
TEST_F(TicketsTest, ASyncInItsTurnHasItsGraceFromTheQuestion) {
  controller_.gives_tickets = true;
  controller_.grace_us = 300'000;
  connect_agent();
  const Json spread{
      {"ticket", "ticket-1"}, {"epoch", 5}, {"waits_us", 60'000'000}, {"sync_after_us", 500'000}};
  controller_.ticket_answer = spread.dump();
  controller_.holds_sync = true;
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 4; }));
  const std::size_t before = renewals_.size();
  const std::int64_t sent_us = telemetry::monotonic_us();
  ASSERT_TRUE(until([&] { return telemetry::monotonic_us() > sent_us + 300'000; }));
  EXPECT_EQ(renewals_.size(), before);
}

TEST_F(TicketsTest, WhatItHoldsIsSaidOnceToAControllerThatGivesTickets) {
  controller_.gives_tickets = true;
  Inventory large;
  large.devices.push_back(Device{"gpu", "nvidia", "H200", "GPU-1", 1, 0});
  connect_agent();
  agent_->set_inventory(large);
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  ASSERT_EQ(controller_.syncs.size(), 4u);
  const auto devices = [&](std::size_t sync) {
    return controller_.syncs.at(sync).at("inventory").value("devices", Json::array()).size();
  };
  EXPECT_EQ(devices(2), 0u);
  EXPECT_EQ(devices(3), 1u);
}

}  // namespace
}  // namespace dove::agent
