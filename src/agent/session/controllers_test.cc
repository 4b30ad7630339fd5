// An agent that knows two controllers: whom it asks, and what it takes for proof
// (docs/decisions/0002-fence.md).
#include <fmt/format.h>

#include "agent/session/session_test_bed.h"
#include "wire/test_peer.h"

namespace dove::agent {
namespace {

class ControllersTest : public SessionTestBed {
 protected:
  ControllersTest() : second_(loop_) {
    options_.other_controllers = {{false, "127.0.0.1", second_.port(), ""}};
    stand_by(second_);
  }
  static void stand_by(ScriptedController& controller) {
    controller.sync_status = 503;
    controller.unavailable = "not_leader";
  }
  bool passes(std::int64_t us) {
    const std::int64_t begun_us = telemetry::monotonic_us();
    return until([&] { return telemetry::monotonic_us() > begun_us + us; });
  }

  // The first one's lease is over; the second one has given a ticket, and holds the sync.
  void follow_a_ticket_of_second() {
    second_.sync_status = 200;
    second_.gives_tickets = second_.holds_sync = true;
    connect_agent();
    controller_.sync_status = controller_.report_status = 503;
    controller_.unavailable = "lease_over";
    ASSERT_TRUE(until([&] { return second_.syncs.size() == 2; }));
  }
  // The first one's process ends; the second one leads, and may have taken the sync that it does
  // not answer. Then it is away, too.
  void lose_answer_of_second() {
    second_.sync_status = 200;
    second_.gives_tickets = second_.holds_sync = true;
    connect_agent();
    controller_.kill();
    ASSERT_TRUE(until([&] { return second_.syncs.size() == 2; }));
    ASSERT_EQ(second_.syncs.back()["ticket"], "ticket-1");
  }
  // Long enough for some attempts at each.
  bool renews_after(std::int64_t us) {
    if (!passes(us)) return false;
    const std::size_t before = renewals_.size();
    return passes(3 * controller_.fence_us) && renewals_.size() > before;
  }

  ScriptedController second_;
};

TEST_F(ControllersTest, TriesAllUntilOneLeads) {
  stand_by(controller_);
  make_agent();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() >= 2 && second_.syncs.size() >= 2; }));
  EXPECT_TRUE(renewals_.empty());
  second_.sync_status = 200;
  ASSERT_TRUE(until([&] { return second_.streams == 1; }));
  EXPECT_FALSE(agent_->refused().has_value());
}

TEST_F(ControllersTest, AMachineThatIsGoneDoesNotHoldUpTheSearch) {
  const wire::SilentPort gone;
  options_.port = gone.port;
  second_.sync_status = 200;
  const std::int64_t begun_us = telemetry::monotonic_us();
  make_agent();
  ASSERT_TRUE(until([&] { return second_.streams == 1; }));
  EXPECT_LT(telemetry::monotonic_us() - begun_us, 4'000'000) << "less than a connection may take";
}

// As by a machine that has started again, while what was asked before is still waited for.
TEST_F(ControllersTest, AsksTheLeaderAnewWhenItsSilentStreamBreaks) {
  options_.stream_silence_us = 100'000;
  connect_agent();
  controller_.mute = true;
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 2; }));
  controller_.break_orders();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 3; }));
  controller_.mute = false;
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
}

// It may have taken the sync, and counts on the node from then on.
TEST_F(ControllersTest, WaitsForWhoGaveATicketWhenTheFormerLeadersStreamBreaks) {
  follow_a_ticket_of_second();
  const std::size_t asked = controller_.syncs.size();
  controller_.break_orders();
  ASSERT_TRUE(passes(400'000));
  EXPECT_EQ(controller_.syncs.size(), asked);
  EXPECT_EQ(second_.syncs.size(), 2U);
  second_.release_sync();
  ASSERT_TRUE(until([&] { return second_.streams == 1; }));
}

TEST_F(ControllersTest, AStreamMayTakeLongerToOpenThanItMayBeSilent) {
  options_.stream_silence_us = 100'000;
  controller_.holds_orders = true;
  connect_agent();
  ASSERT_TRUE(passes(600'000));
  EXPECT_EQ(controller_.syncs.size() + second_.syncs.size(), 1u);
  controller_.release_orders();
  EXPECT_TRUE(until([&] { return controller_.syncs.size() == 2; })) << "its silence counts now";
}

// Another one may lead by then, which counts from its own beginning.
TEST_F(ControllersTest, ALateFarewellCountsFromTheLastAnswer) {
  controller_.grace_us = 150'000;
  controller_.outage_grace_us = 900'000;
  connect_agent();
  controller_.answers_reports = false;
  const std::int64_t last_us = telemetry::monotonic_us();
  ASSERT_TRUE(passes(500'000));
  controller_.line(R"({"bye":true,"epoch":5})");
  ASSERT_TRUE(passes(50'000));
  EXPECT_GT(renewals_.back(), last_us + 500'000) << "it has come";
  controller_.mute = true;
  controller_.drop();
  ASSERT_TRUE(passes(1'200'000));
  EXPECT_LE(renewals_.back(), last_us + 950'000 + controller_.fence_us);
}

TEST_F(ControllersTest, ItsTasksLiveOnWhileAnotherTakesOver) {
  connect_agent();
  controller_.kill();
  ASSERT_TRUE(until([&] { return second_.syncs.size() >= 2; }));
  const std::size_t before = renewals_.size();
  ASSERT_TRUE(until([&] { return renewals_.size() >= before + 3; }));
  second_.sync_status = 200;
  ASSERT_TRUE(until([&] { return second_.streams == 1; }));
}

// The leader saw a break, and counts on the fence; that a standby answers changes nothing.
TEST_F(ControllersTest, WhatAStandbySaysAfterABreakIsNoProof) {
  connect_agent();
  controller_.sync_status = 503;
  controller_.unavailable = "stopping";
  controller_.drop();
  ASSERT_TRUE(until([&] { return !second_.syncs.empty(); }));
  const std::size_t before = renewals_.size();
  ASSERT_TRUE(passes(3 * controller_.fence_us));
  ASSERT_TRUE(until([&] { return second_.syncs.size() >= 3; }));
  EXPECT_EQ(renewals_.size(), before);
}

// Nor is it that the standby's process is down.
TEST_F(ControllersTest, ARefusedConnectionAtAnotherControllerIsNoProof) {
  connect_agent();
  second_.kill();
  controller_.sync_status = 503;
  controller_.unavailable = "stopping";
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() >= 2; }));
  const std::size_t before = renewals_.size();
  ASSERT_TRUE(passes(3 * controller_.fence_us));
  ASSERT_TRUE(until([&] { return controller_.syncs.size() >= 4; }));
  EXPECT_EQ(renewals_.size(), before);
}

// It decides nothing while it is silent, and to close its stream would be a break.
TEST_F(ControllersTest, ALeaderWithoutItsLeaseIsTakenForSilent) {
  connect_agent();
  controller_.sync_status = controller_.report_status = 503;
  controller_.unavailable = "lease_over";
  ASSERT_TRUE(until([&] { return second_.syncs.size() >= 2; }));
  EXPECT_EQ(controller_.streams_closed, 0);
  const std::size_t before = renewals_.size();
  ASSERT_TRUE(until([&] { return renewals_.size() >= before + 3; }));
  controller_.sync_status = controller_.report_status = 200;  // it could renew its lease after all
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
}

// The next leader may have begun soon after the last answer of the one before it, and counts from
// there: what is refused later does not lengthen the grace.
TEST_F(ControllersTest, AnOutageCountsFromTheLastAnswer) {
  controller_.grace_us = 50'000;
  controller_.outage_grace_us = 400'000;
  connect_agent();
  controller_.kill();
  const std::int64_t down_at_us = telemetry::monotonic_us();
  ASSERT_TRUE(passes(1'000'000));
  EXPECT_GT(renewals_.back(), down_at_us + 200'000);
  EXPECT_LT(renewals_.back(), down_at_us + 400'000 + controller_.fence_us + 50'000);
}

// The second one is silent for the agent, and may count on that: it starts the tasks elsewhere.
TEST_F(ControllersTest, AFormerLeadersRefusalIsNoProofOnceAnotherMayHaveTakenASync) {
  controller_.grace_us = 200'000;
  lose_answer_of_second();
  second_.gives_tickets = false;
  stand_by(second_);
  second_.drop();
  const std::size_t asked = second_.syncs.size();
  EXPECT_FALSE(renews_after(900'000));
  EXPECT_GT(second_.syncs.size(), asked + 1) << "and the first one was asked in between";
  restart_agent();
  EXPECT_FALSE(renews_after(900'000)) << "the next agent knows that, too";
}

TEST_F(ControllersTest, WhoGaveATicketAndRefusesConnectionsIsDown) {
  controller_.grace_us = 200'000;
  lose_answer_of_second();
  second_.kill();
  EXPECT_TRUE(renews_after(900'000));
  restart_agent();
  EXPECT_TRUE(renews_after(900'000)) << "the next agent knows that, too";
}

// A leader that was replaced may still give tickets until it sees that its lease is over. The
// second one counts on the node's silence meanwhile.
TEST_F(ControllersTest, ATicketOfAFormerTermIsNotBelieved) {
  controller_.grace_us = 200'000;
  second_.ticket_answer = R"({"ticket":"ticket-1","epoch":6})";
  lose_answer_of_second();
  stand_by(second_);
  second_.gives_tickets = false;
  second_.drop();
  controller_.gives_tickets = controller_.holds_sync = true;
  controller_.ticket_answer = R"({"ticket":"ticket-1","epoch":5})";
  for (const bool is_restarted : {false, true}) {
    controller_.revive();
    const std::size_t asked = controller_.syncs.size();
    ASSERT_TRUE(until([&] { return controller_.syncs.size() >= asked + 2; }));
    EXPECT_EQ(controller_.syncs.back()["ticket"], "") << "it gets no sync";
    controller_.kill();
    EXPECT_FALSE(renews_after(900'000));
    EXPECT_FALSE(agent_->refused().has_value());
    if (!is_restarted) restart_agent();
  }
  EXPECT_EQ(read("controller"), fmt::format("127.0.0.1:{} 6\n", second_.port()));
}

// The second one counts on the node, and is silent: no other answer may end its tasks.
TEST_F(ControllersTest, ATicketOfAFormerTermEndsNothing) {
  second_.ticket_answer = R"({"ticket":"ticket-1","epoch":6})";
  lose_answer_of_second();
  stand_by(second_);
  second_.gives_tickets = false;
  second_.drop();
  controller_.gives_tickets = true;
  controller_.ticket_answer = R"({"ticket":"ticket-1","epoch":5})";
  controller_.revive();
  const std::size_t asked = controller_.syncs.size();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() >= asked + 2; }));
  EXPECT_TRUE(renews_after(0));
}

TEST_F(ControllersTest, WhatAFormerVersionKeptOfTheLeaderIsRead) {
  stand_by(controller_);
  second_.sync_status = 200;
  std::ofstream(data_ + "/controller") << "127.0.0.1:" << second_.port() << "\n";
  make_agent();
  ASSERT_TRUE(until([&] { return second_.streams == 1; }));
  EXPECT_TRUE(controller_.syncs.empty());
}

// Its stream is that of a term that is over: what breaks it says nothing any more.
TEST_F(ControllersTest, TheFormerLeadersStreamEndsWithATicketOfAnother) {
  follow_a_ticket_of_second();
  EXPECT_TRUE(until([&] { return controller_.streams_closed == 1; }));
  EXPECT_TRUE(renews_after(0)) << "as in silence";
}

TEST_F(ControllersTest, ARestartedAgentKnowsWhoLed) {
  stand_by(controller_);
  second_.sync_status = 200;
  make_agent();
  ASSERT_TRUE(until([&] { return second_.streams == 1; }));
  stop_agent();
  const std::size_t asked = controller_.syncs.size();
  restart_agent();
  ASSERT_TRUE(until([&] { return second_.streams == 2; }));
  EXPECT_EQ(controller_.syncs.size(), asked);
}

}  // namespace
}  // namespace dove::agent
