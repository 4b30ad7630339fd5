// The controller's side of api/agent-protocol.md, spoken to by a fake agent over loopback.
#include <gtest/gtest.h>

#include "listener/identity.h"
#include "protocol/session.h"
#include "server/api_fixture.h"

namespace dove::server {
namespace {

class AgentProtocol : public WithApi {};

TEST_F(AgentProtocol, AJobGoesFromSubmissionToItsEnd) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  const Json order = agent.wait_line("launch");
  EXPECT_EQ(order.at("job"), job);
  EXPECT_EQ(order.at("exec").at("command"), Json::array({"true"}));
  EXPECT_EQ(order.at("placements").at(0).at("node"), "n1");
  EXPECT_EQ(order.at("spec").at("tasks"), 1);
  EXPECT_FALSE(order.at("barrier").get<bool>());
  EXPECT_FALSE(order.at("job_token").get<std::string>().empty());
  EXPECT_EQ(agent.tell("started", job, 1).status, 200);
  EXPECT_EQ(live.state(job), "running");
  const Answer ended = agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  EXPECT_EQ(ended.body.at("acked"), 2);
  EXPECT_EQ(live.state(job), "completed");
  EXPECT_EQ(agent.wait_line("forget").at("forget").at(0).at("job"), job);
}

TEST_F(AgentProtocol, ALaunchNamesThePoolsLongestTime) {
  const Json pool{{"kind", "Pool"}, {"name", "short"}, {"time_limit_max_s", 60}, {"nodes", {"n1"}}};
  ASSERT_EQ(live.call("POST", "/v1/objects", Json{{"objects", {pool}}}).status, 200);
  FakeAgent agent(live, "n1");
  agent.connect();
  Json body = small_job_body();
  body["pool"] = "short";
  live.submit(body);
  EXPECT_EQ(agent.wait_line("launch").at("spec").at("time_limit_us"), 60'000'000);
}

TEST_F(AgentProtocol, ADeviceThatIsLostIsGivenToNobody) {
  FakeAgent agent(live, "n1");
  agent.connect();
  Json inventory = agent.greeting().at("inventory");
  inventory["devices"] = {{{"kind", "lost"}, {"vendor", "nvidia"}, {"uuid", "GPU-1"}}};
  EXPECT_EQ(agent.report(Json::array(), 0, {{"inventory", inventory}}).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/nodes/n1").body.at("devices").at(0).at("kind"), "lost");
  Json body = small_job_body();
  body["gpus"] = 1;
  const std::uint64_t job = live.submit(body);
  EXPECT_EQ(live.state(job), "waiting");
  inventory["devices"][0]["kind"] = "gpu";
  EXPECT_EQ(agent.report(Json::array(), 0, {{"inventory", inventory}}).status, 200);
  EXPECT_EQ(agent.wait_line("launch").at("job"), job);
  EXPECT_EQ(agent.report(Json::array(), 0, {{"inventory", "none"}}).status, 400);
}

TEST_F(AgentProtocol, OnAFullDiskAgentsAreAnsweredAndSayItAgain) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  agent.wait_line("launch");
  ASSERT_EQ(agent.tell("started", job, 1).status, 200);
  store.set_full(true);
  const Answer told = agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  EXPECT_EQ(told.status, 503);
  EXPECT_EQ(told.code(), "disk_full");
  EXPECT_EQ(agent.report(Json::array()).status, 200) << "a heartbeat needs no room";
  const Answer synced = agent.sync();
  EXPECT_EQ(synced.status, 503);
  EXPECT_EQ(synced.code(), "disk_full");
  store.set_full(false);
  ASSERT_TRUE(live.until([&] { return agent.sync().status == 200; }));
  EXPECT_EQ(live.call("GET", "/v1/nodes/n1").body.at("contact"), "connected");
}

// Its body is neither kept nor parsed: it is answered for its token alone.
TEST_F(AgentProtocol, AStrangersBodyIsNotRead) {
  const std::string wrong = "nobody-was-given-this-token";
  const Answer answer = live.call("POST", "/v1/agents/join", Json("this is no JSON"), {}, &wrong);
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.code(), "join_token_invalid");
  const std::string token = live.call("POST", "/v1/join-tokens", Json::object()).body.at("token");
  EXPECT_EQ(live.call("POST", "/v1/agents/join", Json("this is no JSON"), {}, &token).status, 400);
}

TEST_F(AgentProtocol, AJoinTokenWorksOnceAndForItsNode) {
  const std::string token =
      live.call("POST", "/v1/join-tokens", Json{{"node", "n1"}}).body.at("token");
  FakeAgent other(live, "n2");
  EXPECT_EQ(live.call("POST", "/v1/agents/join", other.greeting(), {}, &token).code(),
            "join_token_invalid");
  FakeAgent agent(live, "n1");
  EXPECT_EQ(live.call("POST", "/v1/agents/join", agent.greeting(), {}, &token).status, 201);
  EXPECT_EQ(live.call("POST", "/v1/agents/join", agent.greeting(), {}, &token).code(),
            "join_token_invalid");
}

TEST_F(AgentProtocol, AKeyIsNamedByItsDigest) {
  FakeAgent agent(live, "n1");
  agent.also_said = {{"key", std::string(64, 'G')}};
  EXPECT_EQ(agent.join().code(), "malformed_message");
  agent.also_said = {{"key", std::string(64, 'a')}};
  EXPECT_EQ(agent.join().status, 201);
  EXPECT_EQ(agent.token.find('.'), std::string::npos) << "without TLS there is nothing to certify";
  EXPECT_EQ(agent.sync().status, 200);
}

TEST_F(AgentProtocol, ANameThatIsConnectedCannotBeTaken) {
  FakeAgent agent(live, "n1");
  agent.connect();
  FakeAgent other(live, "n1");
  EXPECT_EQ(other.join().code(), "node_exists_elsewhere");
}

TEST_F(AgentProtocol, OnlyItsOwnTokenOpensANode) {
  FakeAgent agent(live, "n1");
  agent.connect();
  agent.token += "x";
  EXPECT_EQ(agent.sync().status, 401);
  EXPECT_EQ(agent.report(Json::array()).code(), "token_invalid");
}

TEST_F(AgentProtocol, WhatWasMissedIsInTheNextSync) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  agent.wait_line("launch");
  agent.stream.reset();  // the order may be lost with the connection
  ASSERT_TRUE(live.until([&] { return live.node_contact("n1") == "broken"; }));
  const Answer synced = agent.sync();
  ASSERT_EQ(synced.status, 200);
  ASSERT_EQ(synced.body.at("orders").size(), 1u);
  EXPECT_EQ(synced.body.at("orders").at(0).at("order"), "launch");
  EXPECT_EQ(synced.body.at("orders").at(0).at("job"), job);
  EXPECT_EQ(live.node_contact("n1"), "connected");
}

TEST_F(AgentProtocol, OrdersBetweenSyncAndStreamAreKept) {
  FakeAgent agent(live, "n1");
  ASSERT_EQ(agent.join().status, 201);
  ASSERT_EQ(agent.sync().status, 200);
  const std::uint64_t job = live.submit(small_job_body());
  agent.open_stream();
  EXPECT_EQ(agent.wait_line("launch").at("job"), job);
}

TEST_F(AgentProtocol, ASyncTellsWhatHappenedMeanwhile) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t running = live.submit(small_job_body());
  const std::uint64_t over = live.submit(small_job_body());
  agent.stream.reset();
  agent.placements = Json::array(
      {{{"job", running}, {"attempt", 1}, {"stage", "started"}},
       {{"job", over}, {"attempt", 1}, {"stage", "ended"}, {"exits", {FakeAgent::exit_of(0, 3)}}},
       {{"job", 999}, {"attempt", 1}, {"stage", "started"}}});
  const Answer synced = agent.sync();
  ASSERT_EQ(synced.status, 200) << synced.response.body;
  EXPECT_EQ(live.state(running), "running");
  EXPECT_EQ(live.state(over), "failed");
  ASSERT_EQ(synced.body.at("orders").size(), 1u) << synced.body.dump();
  EXPECT_EQ(synced.body.at("orders").at(0).at("order"), "stop");
  EXPECT_EQ(synced.body.at("orders").at(0).at("job"), 999);
  EXPECT_EQ(synced.body.at("forget").at(0).at("job"), over);
}

TEST(ASync, TakesNoMoreOfAReasonThanAReport) {
  const std::string why(100'000, 'w');
  const Result<protocol::Report> told =
      protocol::read_report({{"job", 1}, {"attempt", 1}, {"kind", "launch_failed"}, {"why", why}});
  const Json held{{"job", 1}, {"attempt", 1}, {"stage", "ended"}, {"launch_failed", why}};
  const Result<protocol::Sync> synced =
      protocol::read_sync({{"protocol", 1},
                           {"boot_id", "boot-1"},
                           {"inventory", codec::inventory_json(controller::small_inventory())},
                           {"placements", {held}}});
  ASSERT_TRUE(told.ok() && synced.ok());
  EXPECT_EQ(synced->placements.at(0).launch_failed, std::get<protocol::LaunchRefused>(*told).why);
  EXPECT_EQ(synced->placements.at(0).launch_failed.size(), 4096u);
}

TEST_F(AgentProtocol, WhatEndedWhileItsAgentWasAwayHasAStart) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  agent.stream.reset();
  agent.placements = Json::array({{{"job", job},
                                   {"attempt", 1},
                                   {"stage", "ended"},
                                   {"started_ago_us", 3'600'000'000},
                                   {"exits", {FakeAgent::exit_of(0, 0)}}}});
  ASSERT_EQ(agent.sync().status, 200);
  const Json attempt = live.call("GET", "/v1/jobs/" + std::to_string(job)).body["attempts"][0];
  // Not before it was given its place, whatever the agent says.
  EXPECT_EQ(attempt.at("started_at_us"), attempt.at("allocated_at_us")) << attempt.dump();
}

TEST_F(AgentProtocol, ProgressThatCannotBeReadChangesNothing) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  ASSERT_EQ(agent.tell("started", job, 1).status, 200);
  const Json good{{"rank", 0}, {"step", 7}};
  for (const Json& bad : {Json{{"step", 7}}, Json{{"rank", 1}, {"phase", 3}}, Json(7)}) {
    EXPECT_EQ(agent.tell("progress", job, 1, {{"ranks", {bad}}}).code(), "malformed_message");
    EXPECT_EQ(agent.tell("progress", job, 1, {{"ranks", {good, bad}}}).status, 400) << bad;
  }
  const auto shown = [&] {
    return live.call("GET", "/v1/jobs/" + std::to_string(job)).body.at("progress");
  };
  EXPECT_TRUE(shown().is_null()) << shown();
  EXPECT_EQ(agent.tell("progress", job, 1, {{"ranks", {good}}}).status, 200);
  EXPECT_EQ(shown().at("step"), 7);
}

TEST_F(AgentProtocol, WhatAnAgentHasNoRecordOfEndedAndRunsAgain) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  agent.tell("started", job, 1);
  agent.stream.reset();
  const Answer synced = agent.sync();
  ASSERT_EQ(synced.status, 200);
  const Json attempts = live.call("GET", "/v1/jobs/1").body.at("attempts");
  EXPECT_EQ(attempts.at(0).at("exits").at(0).at("cause"), "agent_lost_its_record");
  EXPECT_EQ(synced.body.at("orders").at(0).at("attempt"), 2);
}

TEST_F(AgentProtocol, AJobThatAsksForItsEndHasTimeToHearTheAnswer) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const auto order = [&](const char* kind, std::uint64_t job) {
    Json found;
    EXPECT_TRUE(live.until([&] {
      for (const Json& line : agent.lines) {
        if (line.value("order", "") == kind && line.value("job", 0u) == job) found = line;
      }
      return !found.is_null();
    }));
    return found;
  };
  for (const std::string verb : {"requeue", "cancel"}) {
    const std::uint64_t own = live.submit(small_job_body());
    const auto token = order("launch", own).at("job_token").get<std::string>();
    const auto target = [&](std::uint64_t job) {
      return "/v1/jobs/" + std::to_string(job) + "/" + verb;
    };
    ASSERT_EQ(live.call("POST", target(own), nullptr, {}, &token).status, 200);
    EXPECT_EQ(order("stop", own).value("after_ms", 0), 1000);
    const std::uint64_t other = live.submit(small_job_body());
    order("launch", other);
    ASSERT_EQ(live.call("POST", target(other)).status, 200);
    EXPECT_FALSE(order("stop", other).contains("after_ms"));
  }
}

TEST_F(AgentProtocol, WhatAMachineEndedAsItWentDownRunsAgain) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t killed = live.submit(small_job_body());
  const std::uint64_t failed = live.submit(small_job_body());
  agent.tell("started", killed, 1);
  agent.tell("started", failed, 1);
  agent.stream.reset();
  ASSERT_TRUE(live.until([&] { return live.node_contact("n1") == "broken"; }));
  agent.boot_id = "boot-2";
  Json exit = FakeAgent::exit_of(0, 0);
  exit["signal"] = 15;
  agent.placements =
      Json::array({{{"job", killed}, {"attempt", 1}, {"stage", "ended"}, {"exits", {exit}}},
                   {{"job", failed},
                    {"attempt", 1},
                    {"stage", "ended"},
                    {"exits", {FakeAgent::exit_of(0, 3)}}}});
  ASSERT_EQ(agent.sync().status, 200);
  const Json body = live.call("GET", "/v1/jobs/" + std::to_string(killed)).body;
  EXPECT_EQ(body.at("attempts").at(0).at("exits").at(0).at("cause"), "machine_stopped");
  EXPECT_EQ(body.at("attempts").size(), 2u) << body.dump();
  EXPECT_EQ(live.state(failed), "failed") << "which it was by itself";
}

TEST(AgentMessages, NamesOfAMachineAreNotLong) {
  const auto read = [](const std::string& boot_id, const std::string& address) {
    return protocol::read_sync({{"protocol", 1},
                                {"boot_id", boot_id},
                                {"address", address},
                                {"inventory", codec::inventory_json(Inventory{})}});
  };
  EXPECT_TRUE(read(std::string(256, 'b'), std::string(256, 'a')).ok());
  for (const auto& refused : {read(std::string(257, 'b'), ""), read("b", std::string(257, 'a'))}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("more than 256 bytes"), std::string::npos);
  }
}

TEST_F(AgentProtocol, ASyncThatWasLongUnderWayChangesNothing) {
  FakeAgent agent(live, "n1");
  ASSERT_EQ(agent.join().status, 201);
  const Answer asked = agent.sync_once();
  ASSERT_EQ(asked.status, 200);
  EXPECT_FALSE(asked.body.contains("session")) << "it tells only what to show";
  FakeAgent late = std::move(agent);  // what it is about to say comes after the next session began
  late.ticket = asked.body.at("ticket").get<std::string>();
  FakeAgent again(live, "n1");
  again.token = late.token;
  again.connect();
  const std::uint64_t job = live.submit(small_job_body());
  again.tell("started", job, 1);
  for (int i = 0; i < 2; ++i) {
    const Answer answer = late.sync_once();
    EXPECT_EQ(answer.status, 200);
    EXPECT_FALSE(answer.body.contains("session"));
    EXPECT_EQ(live.state(job), "running");
    EXPECT_EQ(again.report(Json::array()).status, 200) << "its session goes on";
  }
}

TEST_F(AgentProtocol, ASecondSessionEndsTheFirst) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::string first = agent.session;
  ASSERT_EQ(agent.sync().status, 200);
  EXPECT_NE(agent.session, first);
  agent.session = first;
  const Answer late = agent.report(Json::array());
  EXPECT_EQ(late.status, 410);
  EXPECT_EQ(late.code(), "session_over");
  EXPECT_EQ(live.node_contact("n1"), "connected");
}

TEST_F(AgentProtocol, PlacementsThatStayDifferentAskForASync) {
  FakeAgent agent(live, "n1");
  agent.connect();
  live.submit(small_job_body());
  const std::uint64_t seq = agent.wait_line("launch").at("seq");
  agent.placements_hash = "0000000000000000";
  EXPECT_FALSE(agent.report(Json::array(), seq - 1).body.at("resync").get<bool>());
  EXPECT_FALSE(agent.report(Json::array(), seq).body.at("resync").get<bool>());
  EXPECT_FALSE(agent.report(Json::array(), seq).body.at("resync").get<bool>());
  EXPECT_TRUE(agent.report(Json::array(), seq).body.at("resync").get<bool>());
}

TEST_F(AgentProtocol, ALogBehindWhatAnAgentProvesToHaveSeenStopsTheController) {
  FakeAgent agent(live, "n1");
  agent.connect();
  agent.log_head_seen = 1'000'000;
  agent.epoch_seen = 1;
  agent.also_said["head_proof"] =
      listener::Identity::open(live.directory())->head_proof(Epoch(1), Seq(1'000'000));
  const Answer synced = agent.sync();
  EXPECT_EQ(synced.status, 409);
  EXPECT_EQ(synced.code(), "log_head_behind");
  ASSERT_TRUE(live.fatal.has_value());
  EXPECT_EQ(live.call("POST", "/v1/jobs", small_job_body()).code(), "log_head_behind");
  EXPECT_EQ(live.call("GET", "/readyz").status, 503);
}

TEST_F(AgentProtocol, AClaimWithoutProofClosesThatNodeOnly) {
  FakeAgent agent(live, "n1");
  agent.connect();
  FakeAgent other(live, "n2");
  other.connect();
  agent.log_head_seen = std::uint64_t{1} << 63;
  for (const char* proof : {"", "0123456789abcdef0123456789abcdef"}) {
    agent.also_said["head_proof"] = proof;
    EXPECT_EQ(agent.sync().code(), "claim_not_proven");
  }
  EXPECT_FALSE(live.fatal.has_value());
  EXPECT_EQ(live.call("POST", "/v1/jobs", small_job_body()).status, 201);
  EXPECT_EQ(other.report(Json::array()).status, 200);
  const Json node = live.call("GET", "/v1/nodes/n1").body;
  EXPECT_EQ(node["refused"]["code"], "claim_not_proven");
  EXPECT_NE(node["refused"]["why"].get<std::string>().find("dove agent --forget-contact"),
            std::string::npos);
  // What it was really told it can prove.
  agent.log_head_seen = 0;
  agent.also_said.clear();
  agent.connect();
  const Json told = agent.report(Json::array()).body;
  EXPECT_EQ(told["proof"], listener::Identity::open(live.directory())
                               ->head_proof(Epoch(told["epoch"]), Seq(told["log_head"])));
}

TEST_F(AgentProtocol, AnAgentOfALongerLogCannotJoin) {
  FakeAgent agent(live, "n1");
  agent.log_head_seen = 1'000'000;
  EXPECT_EQ(agent.join().code(), "claim_not_proven");
  EXPECT_FALSE(live.fatal.has_value());
}

// -- one name, two machines -----------------------------------------------------------------------

class TwoMachines : public AgentProtocol {
 protected:
  TwoMachines() {
    first.also_said = {{"machine_id", "m-1"}, {"former_boot_id", ""}};
    first.connect();
    job = live.submit(small_job_body());
    first.wait_line("launch");
    first.tell("started", job, 1);
    // A copy of the whole disk: it has the key, and knows the boot that the copy was made in.
    copy.token = first.token;
    copy.boot_id = "boot-of-the-copy";
    copy.also_said = {{"machine_id", "m-2"}, {"former_boot_id", "boot-1"}};
  }
  std::size_t attempts() {
    return live.call("GET", "/v1/jobs/" + std::to_string(job)).body.at("attempts").size();
  }
  void silence() {
    first.stream.reset();
    CHECK(live.until([&] { return live.node_contact("n1") == "broken"; }), "the break is seen");
  }

  FakeAgent first{live, "n1"};
  FakeAgent copy{live, "n1"};
  std::uint64_t job = 0;
};

TEST_F(TwoMachines, ACopyIsRefusedAndTheFirstWorksOn) {
  const Answer refused = copy.sync_once();
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "node_exists_elsewhere");
  EXPECT_NE(refused.body["detail"].get<std::string>().find("dove join-token create"),
            std::string::npos);
  copy.also_said["machine_id"] = "m-1";  // where the hypervisor copies that, too
  EXPECT_EQ(copy.sync_once().code(), "node_exists_elsewhere");
  EXPECT_EQ(first.report(Json::array()).status, 200) << "its session goes on";
  EXPECT_EQ(attempts(), 1u);
  EXPECT_EQ(live.call("GET", "/v1/nodes/n1").body["refused"]["tries"], 2);
}

TEST_F(TwoMachines, ACopyIsRefusedWhileTheFirstMayRun) {
  silence();
  EXPECT_EQ(copy.sync_once().code(), "node_not_proven");
  FakeAgent stranger(live, "n1");
  stranger.boot_id = "boot-of-a-stranger";
  stranger.also_said = {{"machine_id", "m-3"}};
  const Answer joined = stranger.join();
  EXPECT_EQ(joined.code(), "node_not_proven");
  EXPECT_NE(joined.body["detail"].get<std::string>().find("dove node lost n1 --is-off"),
            std::string::npos);
  EXPECT_EQ(attempts(), 1u) << "nothing is started a second time";
}

TEST_F(TwoMachines, AnAdministratorMaySayThatTheFirstIsOff) {
  const Json off{{"is_off", true}, {"why", "unplugged"}};
  EXPECT_EQ(live.call("POST", "/v1/nodes/n1/lost", off).code(), "node_connected");
  silence();
  EXPECT_EQ(live.call("POST", "/v1/nodes/n1/lost", Json::object()).status, 400);
  EXPECT_EQ(live.call("POST", "/v1/nodes/n1/lost", off).status, 200);
  EXPECT_EQ(live.node_contact("n1"), "lost");
  copy.connect();
  EXPECT_TRUE(live.until([&] { return attempts() == 2; }));
  EXPECT_EQ(first.sync_once().code(), "node_exists_elsewhere") << "now it is the other one";
}

TEST_F(TwoMachines, TheSameMachineBootedAnewProvesIt) {
  silence();
  first.boot_id = "boot-2";
  first.also_said["former_boot_id"] = "boot-1";
  first.connect();
  first.wait_line("launch");
  EXPECT_TRUE(live.until([&] { return attempts() == 2; }));
}

TEST_F(AgentProtocol, CancelStopsWhatRuns) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  agent.tell("started", job, 1);
  EXPECT_EQ(live.call("POST", "/v1/jobs/" + std::to_string(job) + "/cancel").status, 200);
  EXPECT_EQ(agent.wait_line("stop").at("reason"), "cancelled");
  agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 1)}}});
  EXPECT_EQ(live.state(job), "cancelled");
}

TEST_F(AgentProtocol, PingsTellTheHeadOfTheLog) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const Json ping = agent.wait_line("ping");
  EXPECT_GT(ping.at("ping").get<std::uint64_t>(), 0u);
  EXPECT_EQ(ping.at("epoch"), 1);
}

TEST_F(AgentProtocol, BrokenMessagesAreErrors) {
  FakeAgent agent(live, "n1");
  agent.connect();
  EXPECT_EQ(agent.report(Json::array({{{"kind", "nonsense"}, {"job", 1}, {"attempt", 1}}})).code(),
            "malformed_message");
  EXPECT_EQ(agent.report(Json::array({{{"kind", 7}}})).code(), "malformed_message");
  EXPECT_EQ(agent.report(Json(3)).status, 400);
  EXPECT_EQ(agent.tell("step_ended", 1, 1, {{"step", "x"}}).status, 400);
}

}  // namespace
}  // namespace dove::server
