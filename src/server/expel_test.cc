// A node that is expelled while its agent is connected, as that agent sees it.
#include <gtest/gtest.h>

#include <atomic>

#include "server/api_fixture.h"
#include "telemetry/clock.h"

namespace dove::server {
namespace {

class Expel : public WithApi {
 protected:
  void SetUp() override {
    agent.connect();
    job = live.submit(small_job_body());
    job_token = agent.wait_line("launch").at("job_token");
    ASSERT_EQ(agent.tell("started", job, 1).status, 200);
    earlier = join_token();
  }
  std::string join_token() {
    return live.call("POST", "/v1/join-tokens", Json{{"node", "n1"}}).body.at("token");
  }
  Answer expel(Json more = Json::object()) {
    more.update(Json{{"action", "expel"}, {"why", "stolen"}});
    return live.call("POST", "/v1/nodes/n1/action", more);
  }
  std::size_t attempts() {
    return live.call("GET", "/v1/jobs/" + std::to_string(job)).body.at("attempts").size();
  }

  FakeAgent agent{live, "n1"};
  std::uint64_t job = 0;
  std::string job_token;
  std::string earlier;  // a token to join with, from before
};

TEST_F(Expel, NothingItHasIsGoodForAnything) {
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &job_token).status, 200);
  EXPECT_EQ(expel(Json{{"now", true}}).status, 400);
  const Answer done = expel();
  ASSERT_EQ(done.status, 200) << done.response.body;
  EXPECT_EQ(done.body.at("state"), "expelled");
  EXPECT_EQ(done.body.at("request").at("why"), "stolen");
  EXPECT_TRUE(live.until([&] { return agent.closed; })) << "its session is over";
  EXPECT_EQ(agent.report(Json::array()).code(), "node_expelled");
  EXPECT_EQ(agent.sync_once().code(), "node_expelled");
  const Answer secrets = live.call("GET", "/v1/agents/n1/secrets/" + std::to_string(job) + "/1",
                                   nullptr, {}, &agent.token);
  EXPECT_EQ(secrets.status, 403);
  EXPECT_EQ(live.call("POST", "/v1/agents/n1/certificate", Json::object(), {}, &agent.token).code(),
            "node_expelled");
  EXPECT_EQ(live.call("POST", "/v1/agents/join", agent.greeting(), {}, &earlier).code(),
            "join_token_invalid");
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &job_token).code(), "token_over");
}

TEST_F(Expel, ItsJobsGoElsewhereOnlyOnceItCountsAsLost) {
  FakeAgent other(live, "n2");
  other.connect();
  ASSERT_EQ(expel().status, 200);
  EXPECT_EQ(expel().code(), "node_expelled");
  EXPECT_EQ(live.call("DELETE", "/v1/nodes/n1").code(), "node_expelled");
  const Json shown = live.call("GET", "/v1/nodes/n1").body;
  EXPECT_EQ(shown.at("contact"), "silent");
  EXPECT_EQ(shown.at("jobs"), Json::array({job}));
  EXPECT_GT(shown.at("lost_at_us").get<std::int64_t>(),
            shown.at("contact_since_us").get<std::int64_t>());
  EXPECT_EQ(attempts(), 1u);
  const Json off{{"is_off", true}, {"why", "unplugged"}};
  EXPECT_EQ(live.call("POST", "/v1/nodes/n1/lost", off).body.at("state"), "removed");
  EXPECT_EQ(other.wait_line("launch").at("job"), job);
  EXPECT_TRUE(live.until([&] { return attempts() == 2; }));
}

TEST_F(Expel, ANewTokenToJoinWithLetsItsMachineBackIn) {
  ASSERT_EQ(expel().status, 200);
  ASSERT_TRUE(live.until([&] { return agent.closed; }));
  agent.placements =
      Json::array({{{"job", job}, {"attempt", 1}, {"stage", "started"}, {"exits", Json::array()}}});
  EXPECT_EQ(agent.join().code(), "node_not_proven") << "an emptied directory would hold nothing";
  agent.also_said = {{"former_boot_id", agent.boot_id}};
  ASSERT_EQ(agent.join().status, 201);
  ASSERT_EQ(agent.sync().status, 200);
  EXPECT_EQ(live.node_contact("n1"), "connected");
  EXPECT_EQ(attempts(), 1u) << "its job was never elsewhere";
  EXPECT_EQ(live.state(job), "running");
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &job_token).status, 200);
}

// Its certificate outlives this, and other nodes would believe it.
TEST_F(Expel, OtherNodesHearWhomToRefuse) {
  FakeAgent other(live, "n2");
  other.connect();
  ASSERT_EQ(expel().status, 200);
  EXPECT_EQ(other.wait_line("expelled").at("expelled"), Json::array({"n1"}));
  EXPECT_EQ(other.sync().body.at("expelled"), Json::array({"n1"}));
  other.open_stream();
  other.lines.clear();
  ASSERT_TRUE(live.until([&] { return agent.closed; }));
  agent.also_said = {{"former_boot_id", agent.boot_id}};
  ASSERT_EQ(agent.join().status, 201);
  EXPECT_EQ(other.wait_line("expelled").at("expelled"), Json::array());
}

// No certificate of its is left by then.
TEST(ExpelledLongAgo, OtherNodesNeedNotRefuseIt) {
  constexpr std::int64_t kDay_us = std::int64_t{24} * 3600 * 1'000'000;
  std::atomic<std::int64_t> now_us = telemetry::now_us();
  store::MemoryStore store;
  LiveApi live{
      store, policies::standard_policies(), {.clock = [&now_us] { return now_us.load(); }}};
  FakeAgent agent(live, "n1");
  FakeAgent other(live, "n2");
  agent.connect();
  other.connect();
  const auto expelled_after = [&](std::int64_t days, const std::string& joins) {
    now_us += days * kDay_us;
    FakeAgent another(live, joins);
    another.connect();
    return other.sync().body.value("expelled", Json::array());
  };
  ASSERT_EQ(live.call("POST", "/v1/nodes/n1/action", Json{{"action", "expel"}}).status, 200);
  EXPECT_EQ(expelled_after(364, "n3"), Json::array({"n1"}));
  EXPECT_EQ(expelled_after(3, "n4"), Json::array());
}

TEST_F(Expel, AnIdleNodeIsGoneAtOnce) {
  FakeAgent idle(live, "n2");
  idle.connect();
  const Answer done = live.call("POST", "/v1/nodes/n2/action", Json{{"action", "expel"}});
  EXPECT_EQ(done.body.at("state"), "removed");
  EXPECT_TRUE(live.until([&] { return idle.closed; }));
  EXPECT_EQ(idle.sync_once().code(), "node_expelled");
}

TEST_F(Expel, AuditorsReadWhoDidIt) {
  ASSERT_EQ(expel().status, 200);
  const Answer events =
      live.call("GET", "/v1/events?audit=1&kind=NodeActionRequested", nullptr, {});
  ASSERT_EQ(events.status, 200);
  EXPECT_NE(events.response.body.find("expel"), std::string::npos) << events.response.body;
  EXPECT_NE(events.response.body.find("stolen"), std::string::npos);
}

}  // namespace
}  // namespace dove::server
