// What one agent may cost all others.
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class AgentLimits : public WithApi {};

TEST_F(AgentLimits, OneThatReportsWithoutEndIsToldToWait) {
  FakeAgent flood(live, "n1");
  FakeAgent other(live, "n2");
  flood.connect();
  other.connect();
  Json events = Json::array();
  for (int i = 0; i < 512; ++i) {
    events.push_back(
        {{"kind", "task_ended"}, {"job", 1}, {"attempt", 1}, {"exit", FakeAgent::exit_of(0, 0)}});
  }
  Answer answer = flood.report(Json::array());
  int taken = 0;
  while (answer.status == 200 && taken < 100) {
    answer = flood.report(events);
    taken += answer.status == 200 ? 1 : 0;
  }
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.code(), "too_many_reports");
  EXPECT_GE(taken, 4) << "the 2 000 of the fixture's, and what was earned meanwhile";
  EXPECT_EQ(flood.report(Json::array()).status, 200) << "its heartbeats count";
  EXPECT_EQ(other.report(events).status, 200);
}

TEST_F(AgentLimits, WhatASyncDoesNotKnowIsWrittenDownInPart) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t before = agent.report(Json::array()).body.at("log_head");
  for (int i = 0; i < 2'000; ++i) {
    agent.placements.push_back({{"job", 1'000 + i}, {"attempt", 1}, {"stage", "started"}});
  }
  EXPECT_EQ(agent.sync().status, 200);
  EXPECT_LT(agent.report(Json::array()).body.at("log_head"), before + 200);
}

// It would lose its tasks: the answer to its sync is what lets it count on us.
TEST_F(AgentLimits, OneThatReportsAsMuchAsItMayIsLetInAgain) {
  FakeAgent busy(live, "n1");
  busy.connect();
  Json events = Json::array();
  for (int i = 0; i < 512; ++i) {
    events.push_back({{"kind", "task_ended"},
                      {"job", 1},
                      {"attempt", 1},
                      {"exit", FakeAgent::exit_of(0, 0)},
                      {"padding", std::string(200, 'x')}});
  }
  Answer answer = busy.report(events);
  for (int i = 0; i < 100 && answer.status == 200; ++i) answer = busy.report(events);
  EXPECT_EQ(answer.status, 503) << "which says that it is counted on, also where it is large";
  EXPECT_EQ(busy.sync().status, 200);
}

// Each one writes down that it has come; one that loops is told to wait, a few are nobody's matter.
TEST_F(AgentLimits, OneThatSyncsWithoutEndIsToldToWait) {
  FakeAgent flood(live, "n1");
  FakeAgent other(live, "n2");
  flood.connect();
  other.connect();
  for (int i = 0; i < 200; ++i) {
    flood.placements.push_back({{"job", 1'000 + i}, {"attempt", 1}, {"stage", "started"}});
  }
  Answer answer;
  int taken = 0;
  while ((answer = flood.sync()).status == 200 && taken < 1'000) ++taken;
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.code(), "too_many_reports");
  EXPECT_EQ(answer.response.header("Retry-After"), "1");
  EXPECT_GE(taken, 35) << "101 events each, of the fixture's 2 000, and as many that it owes";
  EXPECT_EQ(other.sync().status, 200);
  const Json node = live.call("GET", "/v1/nodes/n1").body;
  EXPECT_NE(node.dump().find("too_many_reports"), std::string::npos);
}

TEST_F(AgentLimits, LargeMessagesAreReadWithinAnAllowance) {
  FakeAgent flood(live, "n1");
  flood.connect();
  const Json large{{"padding", std::string(1 << 20, 'x')}};
  Answer answer = flood.report(Json::array(), 0, large);
  EXPECT_EQ(answer.status, 200);
  int taken = 1;
  while ((answer = flood.report(Json::array(), 0, large)).status == 200 && taken < 1'000) ++taken;
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.code(), "too_many_reports");
  EXPECT_EQ(flood.report(Json::array()).status, 200) << "its heartbeats count";
}

}  // namespace
}  // namespace dove::server
