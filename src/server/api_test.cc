// The API as people and programs use it, over loopback.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "backends/native/agents.h"
#include "codec/record.h"
#include "codec/record_samples.h"
#include "server/api_fixture.h"
#include "server/openapi.h"
#include "server/routes.h"
#include "server/streams/log_copies.h"

namespace dove::server {
namespace {

class Api : public WithApi {
 protected:
  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
};

TEST_F(Api, SubmitsListsAndShows) {
  const Answer answer = live.call("POST", "/v1/jobs", small_job_body("first"),
                                  {{"X-Dove-User", "ada"}, {"X-Request-Id", "r1"}});
  ASSERT_EQ(answer.status, 201) << answer.response.body;
  EXPECT_EQ(answer.response.header("Location"), "/v1/jobs/1");
  EXPECT_EQ(answer.body.at("ids"), Json::array({1}));
  live.submit(small_job_body("second"));
  const Json job = live.call("GET", "/v1/jobs/1").body;
  EXPECT_EQ(job.at("name"), "first");
  EXPECT_EQ(job.at("user"), "ada");
  EXPECT_EQ(job.at("exec").at("command"), Json::array({"true"}));
  EXPECT_EQ(live.call("GET", "/v1/jobs?name=second").body.at("jobs").size(), 1u);
  EXPECT_EQ(live.call("GET", "/v1/jobs?user=ada").body.at("jobs").size(), 1u);
  EXPECT_EQ(live.call("GET", "/v1/jobs?project=nobodys").body.at("jobs").size(), 0u);
  EXPECT_EQ(live.call("GET", "/v1/jobs?state=running").body.at("jobs").size(), 0u);
  EXPECT_EQ(live.call("GET", "/v1/jobs?state=no-such-state").code(), "bad_parameter");
  const Json page = live.call("GET", "/v1/jobs?limit=1").body;
  EXPECT_EQ(page.at("next"), 1);
  const Json rest = live.call("GET", "/v1/jobs?limit=1&after=1").body;
  EXPECT_EQ(rest.at("jobs").at(0).at("id"), 2);
  EXPECT_TRUE(rest.at("next").is_null());
}

TEST_F(Api, ErrorsHaveCodesAndPlaces) {
  EXPECT_EQ(live.call("GET", "/v1/nothing").code(), "no_such_path");
  const Answer wrong = live.call("PATCH", "/v1/jobs/1");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.response.header("Allow"), "GET, DELETE");
  EXPECT_EQ(live.call("GET", "/v1/jobs/77").code(), "no_such_job");
  EXPECT_EQ(live.call("GET", "/v1/jobs/x").code(), "no_such_job");
  EXPECT_EQ(live.call("POST", "/v1/jobs", Json("{")).status, 400);
  Json body = small_job_body();
  body["colour"] = "blue";
  const Answer unknown = live.call("POST", "/v1/jobs", body);
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.body.at("field"), "colour");
  EXPECT_EQ(unknown.response.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(live.call("POST", "/v1/jobs/77/cancel").code(), "no_such_job");
  EXPECT_EQ(live.call("GET", "/v1/jobs?limit=0").body.at("field"), "limit");
}

// An accepted field has an effect.
TEST_F(Api, AFieldThatNobodyKnowsIsRefused) {
  const struct {
    const char* path;
    Json body;
  } kRequests[] = {
      {"/v1/jobs/1/priority", {{"priority", 1}}},
      {"/v1/jobs/1/signal", {{"signal", "USR1"}}},
      {"/v1/nodes/n1/drain", {{"reason", "fans"}}},
      {"/v1/nodes/n1/undrain", Json::object()},
      {"/v1/nodes/n1/action", {{"action", "drain"}}},
      {"/v1/nodes/n1/lost", {{"is_off", true}}},
      {"/v1/nodes/n1/findings", {{"check", "fans"}, {"severity", "good"}}},
      {"/v1/maintenance-plan", {{"action", "drain"}}},
      {"/v1/keys", {{"name", "ci"}}},
      {"/v1/join-tokens", {{"ttl_s", 60}}},
      {"/v1/objects", {{"objects", {{{"kind", "Pool"}, {"name", "a"}}}}}},
  };
  FakeAgent agent(live, "n1");
  agent.join();
  live.submit(small_job_body());
  for (auto [path, body] : kRequests) {
    body["nwo"] = true;
    const Answer answer = live.call("POST", path, body);
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_EQ(answer.code(), "unknown_field") << path;
  }
}

TEST_F(Api, TokensSayWhoOneIs) {
  const std::string none;
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &none).code(), "token_missing");
  const std::string wrong = "wrong";
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &wrong).code(), "token_invalid");
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  const Answer submitted = live.call("POST", "/v1/jobs", small_job_body(), {}, &ada);
  ASSERT_EQ(submitted.status, 201) << submitted.response.body;
  EXPECT_EQ(live.call("GET", "/v1/jobs/1", nullptr, {}, &bob).body.at("user"), "ada");
  EXPECT_FALSE(live.call("GET", "/v1/jobs/1", nullptr, {}, &bob).body.contains("exec"));
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/cancel", nullptr, {}, &bob).code(), "not_yours");
  EXPECT_EQ(live.call("POST", "/v1/join-tokens", nullptr, {}, &ada).code(), "admin_only");
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/cancel", nullptr, {}, &ada).status, 200);
  EXPECT_EQ(live.state(1), "cancelled");
  // A new token voids the former; healthz needs none.
  user_token("ada");
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &ada).status, 401);
  EXPECT_EQ(live.call("GET", "/healthz", nullptr, {}, &none).status, 200);
}

TEST_F(Api, AJobsTokenSpeaksForItsUserWhileItRuns) {
  FakeAgent agent(live, "n1");
  agent.connect();
  live.call("POST", "/v1/jobs", small_job_body(), {{"X-Dove-User", "ada"}});
  const std::string token = agent.wait_line("launch").at("job_token");
  const Answer more = live.call("POST", "/v1/jobs", small_job_body("more"), {}, &token);
  ASSERT_EQ(more.status, 201) << more.response.body;
  EXPECT_EQ(live.call("GET", "/v1/jobs/2").body.at("user"), "ada");
  agent.tell("ended", 1, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &token).code(), "token_over");
}

TEST_F(Api, AJobSaysThatItHasSavedItsWork) {
  FakeAgent agent(live, "n1");
  agent.connect();
  live.call("POST", "/v1/jobs", small_job_body());
  const std::string token = agent.wait_line("launch").at("job_token");
  live.call("POST", "/v1/jobs", small_job_body("other"));
  const Answer saved = live.call("POST", "/v1/jobs/1/checkpoint", nullptr, {}, &token);
  EXPECT_EQ(saved.status, 200) << saved.response.body;
  EXPECT_EQ(live.call("POST", "/v1/jobs/2/checkpoint", nullptr, {}, &token).code(), "not_yours");
  agent.tell("ended", 1, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/checkpoint").code(), "not_running");
}

TEST_F(Api, TheSameKeyGivesTheSameJob) {
  const wire::Pairs key{{"Idempotency-Key", "k1"}};
  EXPECT_EQ(live.call("POST", "/v1/jobs", small_job_body(), key).body.at("id"), 1);
  const Answer again = live.call("POST", "/v1/jobs", small_job_body(), key);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body.at("id"), 1);
  EXPECT_EQ(again.response.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(live.call("POST", "/v1/jobs", small_job_body("other"), key).code(),
            "idempotency_key_reused");
}

TEST_F(Api, ABodyHasAtMostSoManyValues) {
  std::string lists = R"({"command": ["true"], "environment": [[])";
  for (int i = 0; i < 200'000; ++i) lists += ",[]";
  const Answer refused = live.call("POST", "/v1/jobs", lists + "]}");
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.code(), "too_many_values");
  const std::string nobody;
  std::string words = R"({"a": [0)";
  for (int i = 0; i < 2'000; ++i) words += ",0";
  EXPECT_EQ(live.call("POST", "/v1/sign-in", words + "]}", {}, &nobody).code(), "too_many_values");
  // The largest that people send goes through.
  Json body = small_job_body();
  std::vector<int> indices(100'000);
  std::iota(indices.begin(), indices.end(), 0);
  body["array"] = Json{{"indices", indices}};
  EXPECT_NE(live.call("POST", "/v1/jobs?dry_run=1", body).code(), "too_many_values");
}

TEST_F(Api, AnArrayIsOneIdOrItsElements) {
  Json body = small_job_body();
  body["array"] = Json{{"indices", {1, 3, 5}}};
  const Answer submitted = live.call("POST", "/v1/jobs", body);
  ASSERT_EQ(submitted.status, 201) << submitted.response.body;
  EXPECT_EQ(submitted.body.at("ids"), Json::array({1, 2, 3}));
  EXPECT_EQ(live.call("GET", "/v1/jobs/1_3").body.at("id"), 2);
  EXPECT_EQ(live.call("GET", "/v1/jobs/1_2").code(), "no_such_job");
  EXPECT_EQ(live.call("POST", "/v1/jobs/1_5/hold").body.at("ids"), Json::array({3}));
  EXPECT_EQ(live.call("GET", "/v1/jobs?ids=1").body.at("jobs").size(), 3u);
  EXPECT_EQ(live.call("DELETE", "/v1/jobs/1").body.at("changed"), 3);
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/cancel").status, 409);
}

TEST_F(Api, WhyNamesTheCauses) {
  live.submit(small_job_body());
  live.call("POST", "/v1/jobs/1/hold");
  const Json why = live.call("GET", "/v1/jobs/1/why").body;
  EXPECT_EQ(why.at("state"), "held");
  bool held = false;
  for (const Json& reason : why.at("reasons")) held |= reason.at("kind") == "held";
  EXPECT_TRUE(held) << why.dump();
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/release").status, 200);
  EXPECT_EQ(live.state(1), "waiting");
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/priority", Json{{"priority", 7}}).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/jobs/1").body.at("priority"), 7);
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/signal", Json{{"signal", "USR1"}}).code(), "not_running");
}

TEST_F(Api, WhyNamesWhatElseWouldDo) {
  FakeAgent drained(live, "n1");
  FakeAgent busy(live, "n2");
  drained.connect();
  busy.connect();
  live.call("POST", "/v1/nodes/n1/drain", Json::object());
  Json whole = small_job_body();
  whole["cores"] = live.call("GET", "/v1/nodes/n2").body.at("cores");
  const std::string first = std::to_string(live.submit(whole));
  ASSERT_TRUE(live.until([&] { return live.state(std::stoull(first)) != "waiting"; }));
  const std::string target = "/v1/jobs/" + std::to_string(live.submit(whole)) + "/why";
  const Json why = live.call("GET", target + "?others=1").body;
  ASSERT_EQ(why.at("reasons").at(0).at("kind"), "nodes_unavailable") << why;
  EXPECT_EQ(why.at("others").at("all"), true);
  EXPECT_EQ(why.at("others").at("sets").at(0).at("text"), "other jobs held no cores") << why;
  EXPECT_FALSE(live.call("GET", target).body.contains("others"));
}

TEST_F(Api, AJobIsTriedWithoutBeingSubmitted) {
  const Json jobs = live.call("GET", "/v1/jobs").body.at("jobs");
  Json body = small_job_body("tried");
  const Answer tried = live.call("POST", "/v1/jobs?dry_run=1", body);
  ASSERT_EQ(tried.status, 200) << tried.response.body;
  EXPECT_EQ(tried.body.at("starts_at_once"), tried.body.at("reasons").empty());
  body["hold"] = true;
  const Answer held = live.call("POST", "/v1/jobs?dry_run=1", body);
  EXPECT_EQ(held.body.at("starts_at_once"), false);
  EXPECT_NE(held.body.at("reasons").dump().find("\"kind\":\"held\""), std::string::npos);
  body["queue"] = "nobodys";
  const Answer refused = live.call("POST", "/v1/jobs?dry_run=1", body);
  EXPECT_EQ(refused.status, live.call("POST", "/v1/jobs", body).status);
  EXPECT_EQ(refused.body.at("field"), "queue");
  EXPECT_EQ(live.call("GET", "/v1/jobs").body.at("jobs").size(), jobs.size());
}

TEST_F(Api, ObjectsAreAppliedNotScripted) {
  const Json pool{{"nodes", {"n[1-4]"}}, {"open", true}};
  const Answer dry = live.call("PUT", "/v1/objects/pool/gpu?dry_run=1", pool);
  ASSERT_EQ(dry.status, 200) << dry.response.body;
  EXPECT_EQ(dry.body.at("change"), "create");
  EXPECT_EQ(live.call("GET", "/v1/objects/pool/gpu").code(), "no_such_pool");
  EXPECT_EQ(live.call("PUT", "/v1/objects/pool/gpu", pool).body.at("change"), "create");
  EXPECT_EQ(live.call("PUT", "/v1/objects/pool/gpu", pool).body.at("change"), "none");
  EXPECT_EQ(live.call("GET", "/v1/objects/pool/gpu").body.at("name"), "gpu");
  EXPECT_EQ(live.call("PUT", "/v1/objects/queue/q", pool).status, 400);
  EXPECT_EQ(live.call("PUT", "/v1/objects/nonsense/q", pool).code(), "no_such_kind");
  EXPECT_EQ(live.call("DELETE", "/v1/objects/pool/gpu").status, 204);
  EXPECT_EQ(live.call("DELETE", "/v1/objects/pool/gpu").status, 404);
}

TEST_F(Api, ObjectsAreAppliedTogetherOrNotAtAll) {
  const Json lab{{"kind", "Queue"}, {"name", "lab"}};
  const Json below{{"kind", "Queue"}, {"name", "lab/a"}, {"parent", "lab"}};
  const Json wrong{{"kind", "Cluster"}, {"order", "fastest"}};
  const Answer refused = live.call("POST", "/v1/objects", Json{{"objects", {lab, below, wrong}}});
  EXPECT_EQ(refused.code(), "order_unknown");
  const std::string detail = refused.body.at("detail").get<std::string>();
  EXPECT_NE(detail.find("Cluster/cluster: there is no order"), std::string::npos) << detail;
  EXPECT_NE(detail.find("nothing was applied"), std::string::npos) << detail;
  EXPECT_EQ(live.call("GET", "/v1/objects/queue/lab").status, 404);
  EXPECT_EQ(live.call("PUT", "/v1/objects/queue/x?dry_run=1", Json{{"order", "fastest"}}).code(),
            "order_unknown");
  const Json both{{"objects", {lab, below}}};
  const Answer dry = live.call("POST", "/v1/objects?dry_run=1", both);
  EXPECT_EQ(dry.body.at("changes").at(1).at("change"), "create");
  EXPECT_EQ(live.call("GET", "/v1/objects/queue/lab").status, 404);
  const Answer made = live.call("POST", "/v1/objects", both);
  ASSERT_EQ(made.status, 200) << made.response.body;
  EXPECT_EQ(live.call("GET", "/v1/objects/queue/lab%2Fa").body.at("parent"), "lab");
  EXPECT_EQ(live.call("DELETE", "/v1/objects/queue/lab").code(), "queue_has_children");
  EXPECT_EQ(live.call("POST", "/v1/objects", both).body.at("changes").at(0).at("change"), "none");
  EXPECT_EQ(live.call("POST", "/v1/objects", Json{{"objects", Json::array()}}).code(),
            "bad_objects");
}

TEST_F(Api, WhatContradictsItselfIsToldOf) {
  const Json lab{{"kind", "Queue"}, {"name", "lab"}, {"limits", {{"gpus", 4}}}, {"weight", 3}};
  const Json below{{"kind", "Queue"},
                   {"name", "a"},
                   {"parent", "lab"},
                   {"limits", {{"gpus", 6}}},
                   {"guaranteed", {{"gpus", 5}}}};
  const Answer made = live.call("POST", "/v1/objects", Json{{"objects", {lab, below}}});
  ASSERT_EQ(made.status, 200) << made.response.body;
  const std::string first = made.body.at("changes").at(0).at("warnings").dump();
  EXPECT_NE(first.find("the cluster serves the queues below it by priority_fifo"),
            std::string::npos)
      << first;
  const std::string second = made.body.at("changes").at(1).at("warnings").dump();
  EXPECT_NE(second.find("5000 gpus_milli are guaranteed"), std::string::npos) << second;
  EXPECT_NE(second.find("is never reached"), std::string::npos) << second;
  const Json cluster{{"kind", "Cluster"}, {"order", "fair_share"}};
  const Answer mended = live.call("POST", "/v1/objects", Json{{"objects", {cluster, lab}}});
  EXPECT_TRUE(mended.body.at("changes").at(1).at("warnings").empty()) << mended.response.body;
}

TEST_F(Api, ATokenForAUserThatNobodyDeclaredIsATypo) {
  const Answer refused = live.call("POST", "/v1/users/anm/token", Json::object());
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.code(), "no_such_user");
  EXPECT_EQ(live.call("GET", "/v1/objects/user/anm").status, 404);
}

TEST_F(Api, AQueueWithJobsStays) {
  live.call("PUT", "/v1/objects/queue/night", Json{{"name", "night"}});
  Json body = small_job_body();
  body["queue"] = "night";
  const std::uint64_t job = live.submit(body);
  const Answer refused = live.call("DELETE", "/v1/objects/queue/night");
  EXPECT_EQ(refused.code(), "queue_in_use");
  EXPECT_NE(refused.body.at("detail").get<std::string>().find("1 waiting and 0 running"),
            std::string::npos);
  live.call("POST", fmt::format("/v1/jobs/{}/cancel", job), Json::object());
  EXPECT_EQ(live.call("DELETE", "/v1/objects/queue/night").status, 204);
}

TEST_F(Api, ApplyingAUserKeepsTheToken) {
  const std::string ada = user_token("ada");
  const Answer applied =
      live.call("PUT", "/v1/objects/user/ada", Json{{"linux_user", "ada"}, {"admin", false}});
  ASSERT_EQ(applied.status, 200) << applied.response.body;
  EXPECT_EQ(applied.response.body.find("sha256"), std::string::npos);
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &ada).status, 200);
}

TEST_F(Api, NodesAreDrainedAndRemoved) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const Answer drained = live.call("POST", "/v1/nodes/n1/drain", Json{{"reason", "fan"}});
  ASSERT_EQ(drained.status, 200) << drained.response.body;
  EXPECT_EQ(drained.body.at("state"), "drained");
  live.submit(small_job_body());
  EXPECT_EQ(live.state(1), "waiting");
  EXPECT_EQ(live.call("DELETE", "/v1/nodes/n1").code(), "node_connected");
  live.call("POST", "/v1/nodes/n1/undrain");
  agent.wait_line("launch");
  agent.stream.reset();
  ASSERT_TRUE(live.until([&] { return live.node_contact("n1") == "broken"; }));
  EXPECT_EQ(live.call("DELETE", "/v1/nodes/n1").status, 204);
  EXPECT_EQ(live.call("GET", "/v1/nodes").body.at("nodes").size(), 0u);
}

TEST_F(Api, TheClusterInNumbers) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const Json cluster = live.call("GET", "/v1/cluster").body;
  EXPECT_EQ(cluster.at("nodes").at("connected"), 1);
  EXPECT_EQ(cluster.at("cores").at("total"), 4);
  const Answer metrics = live.call("GET", "/metrics");
  EXPECT_NE(metrics.response.body.find("dove_nodes_connected 1"), std::string::npos);
  EXPECT_NE(metrics.response.body.find("dove_placements_far_from_devices 0"), std::string::npos);
}

TEST_F(Api, EndsHaveMetrics) {
  const auto ended = [&](const std::string& outcome) {
    const std::string page = live.call("GET", "/metrics").response.body;
    const std::string series = fmt::format("dove_jobs_ended_total{{outcome=\"{}\"}} ", outcome);
    const std::size_t at = page.find(series);
    return at == std::string::npos ? -1 : std::stoi(page.substr(at + series.size()));
  };
  Json body = small_job_body();
  body["hold"] = true;
  const std::string job = std::to_string(live.submit(body));
  const int before = ended("cancelled");
  EXPECT_GE(before, 0) << "each outcome has its series from the beginning";
  EXPECT_GE(ended("failed"), 0);
  ASSERT_EQ(live.call("POST", "/v1/jobs/" + job + "/cancel").status, 200);
  EXPECT_EQ(ended("cancelled"), before + 1);
}

TEST_F(Api, CountablesHaveMetrics) {
  FakeAgent agent(live, "n1");
  Inventory inventory = controller::small_inventory();
  inventory.countables = {{"hca", 3}};
  agent.also_said = {{"inventory", codec::inventory_json(inventory)}};
  agent.connect();
  const Json fpga{{"countables", {{"fpga", 1}}}};
  const Json licence{{"countables", {{"licence", 5}}}};
  ASSERT_EQ(live.call("PUT", "/v1/objects/node/n1", fpga).status, 200);
  ASSERT_EQ(live.call("PUT", "/v1/objects/cluster/default", licence).status, 200);
  Json body = small_job_body();
  body["countables"] = {{"hca", 2}};
  body["cluster_requests"] = {{"licence", 4}};
  live.submit(body);
  agent.wait_line("launch");
  const std::string page = live.call("GET", "/metrics").response.body;
  for (const char* line : {R"(dove_node_countable{node="n1",countable="hca"} 3)",
                           R"(dove_node_countable_held{node="n1",countable="hca"} 2)",
                           R"(dove_node_countable_held{node="n1",countable="fpga"} 0)",
                           R"(dove_cluster_countable{countable="licence"} 5)",
                           R"(dove_cluster_countable_held{countable="licence"} 4)"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << " in " << page;
  }
}

// -- the document
// ----------------------------------------------------------------------------------

struct Documented {
  std::string method, path, operation;
  auto operator<=>(const Documented&) const = default;
};

// Reads only the layout that api/openapi.yaml keeps: paths at two spaces, methods at four.
std::vector<Documented> documented() {
  std::vector<Documented> found;
  std::string path;
  std::string method;
  std::istringstream text{std::string(openapi_text())};
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("components:")) break;
    if (line.starts_with("  /")) path = line.substr(2, line.rfind(':') - 2);
    if (line.starts_with("    ") && line[4] != ' ') method = line.substr(4, line.find(':') - 4);
    const std::size_t at = line.find("operationId: ");
    if (at == std::string::npos) continue;
    std::string operation = line.substr(at + 13);
    operation = operation.substr(0, operation.find(','));
    for (char& c : method) c = static_cast<char>(std::toupper(c));
    found.push_back({method, path, operation});
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(OpenApi, IsTheRouteTable) {
  std::vector<Documented> served;
  const auto add = [&](const listener::RouteWords& words) {
    served.push_back({words.method, words.path, words.operation});
  };
  for (const ApiRoute& route : api_routes()) add(route.words);
  for (const auto& route : log_routes()) add(route.words);
  for (const auto& route : backends::agent_routes()) add(route.words);
  std::sort(served.begin(), served.end());
  const std::vector<Documented> written = documented();
  ASSERT_EQ(written.size(), served.size());
  for (std::size_t i = 0; i < served.size(); ++i) {
    EXPECT_EQ(served[i].method + " " + served[i].path + " " + served[i].operation,
              written[i].method + " " + written[i].path + " " + written[i].operation);
  }
}

TEST(OpenApi, NamesEveryKindOfRecord) {
  const std::string text(openapi_text());
  const std::size_t at = text.find("kind: {type: string, enum: [ControllerStarted");
  const std::string kinds = text.substr(at, text.find('\n', at) - at) + ",";
  const auto names = [&](std::string_view kind) {
    return kinds.find(fmt::format(" {},", kind)) != std::string::npos ||
           kinds.find(fmt::format(" {}]", kind)) != std::string::npos ||
           kinds.find(fmt::format("[{},", kind)) != std::string::npos;
  };
  for (const StampedEvent& event : codec::sample_events()) {
    EXPECT_TRUE(names(codec::kind_name(event.event))) << codec::kind_name(event.event);
  }
  for (const Decision& decision : codec::sample_decisions()) {
    EXPECT_TRUE(names(codec::kind_name(decision))) << codec::kind_name(decision);
  }
}

// The `required: [...]` of a schema.
std::vector<std::string> required_of(const std::string& schema) {
  const std::string text(openapi_text());
  const std::size_t at = text.find("\n    " + schema + ":\n", text.find("\n  schemas:\n"));
  const std::size_t begin = text.find("required: [", at) + 11;
  std::istringstream list(text.substr(begin, text.find(']', begin) - begin));
  std::vector<std::string> names;
  for (std::string name; list >> name;) {
    names.push_back(name.back() == ',' ? name.substr(0, name.size() - 1) : name);
  }
  return names;
}

TEST_F(Api, AnswersHoldWhatTheDocumentPromises) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const Json submitted = live.call("POST", "/v1/jobs", small_job_body()).body;
  const std::vector<std::pair<std::string, Json>> examples{
      {"Submitted", submitted},
      {"JobSummary", live.call("GET", "/v1/jobs").body.at("jobs").at(0)},
      {"JobSummary", live.call("GET", "/v1/jobs/1").body},
      {"Job", live.call("GET", "/v1/jobs/1").body},
      {"Node", live.call("GET", "/v1/nodes/n1").body},
      {"Changed", live.call("POST", "/v1/jobs/1/cancel").body},
      {"Object", live.call("GET", "/v1/objects").body.at("objects").at(0)},
      {"Record", live.call("GET", "/v1/events").body.at("events").at(0)},
      {"Problem", live.call("GET", "/v1/jobs/99").body}};
  for (const auto& [schema, example] : examples) {
    for (const std::string& name : required_of(schema)) {
      EXPECT_TRUE(example.contains(name)) << schema << "." << name << " in " << example.dump();
    }
  }
}

}  // namespace
}  // namespace dove::server
