// Who may see and do what: users, and the tokens of running jobs, over every route.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "backends/native/agents.h"
#include "server/api_fixture.h"
#include "server/routes.h"
#include "server/standing/standby_reads.h"
#include "server/streams/log_copies.h"

namespace dove::server {
namespace {

class AccessTest : public WithApi {
 protected:
  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  std::string job_token(FakeAgent& agent, std::uint64_t job) {
    std::string token;
    const auto look = [&] {
      for (const Json& line : agent.lines) {
        if (line.value("order", "") == "launch" && line.at("job") == job)
          token = line.at("job_token");
      }
      return !token.empty();
    };
    CHECK(live.until(look), "the job is launched");
    return token;
  }
  std::set<std::string> names(const std::string& target, const std::string& token) {
    std::set<std::string> found;
    const Answer answer = live.call("GET", target, nullptr, {}, &token);
    EXPECT_EQ(answer.status, 200) << answer.response.body;
    for (const Json& object : answer.body.at("objects"))
      found.insert(object.at("name").get<std::string>());
    return found;
  }
};

TEST_F(AccessTest, UsersSeeWhatConcernsThem) {
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  const Json objects{
      {{"kind", "Project"}, {"name", "vision"}, {"users", {"ada"}}},
      {{"kind", "Project"}, {"name", "open"}},
      {{"kind", "Pool"}, {"name", "everybodys"}},
      {{"kind", "Pool"}, {"name", "adas"}, {"users", {"ada"}}},
      {{"kind", "Pool"}, {"name", "visions"}, {"projects", {"vision"}}},
      {{"kind", "Limit"}, {"name", "bob"}},
      {{"kind", "Limit"}, {"name", "*"}},
  };
  ASSERT_EQ(live.call("POST", "/v1/objects", Json{{"objects", objects}}).status, 200);
  using Names = std::set<std::string>;
  EXPECT_EQ(names("/v1/objects?kind=pool", ada),
            (Names{"adas", "default", "everybodys", "visions"}));
  EXPECT_EQ(names("/v1/objects?kind=pool", bob), (Names{"default", "everybodys"}));
  EXPECT_EQ(names("/v1/objects?kind=pool", live.admin_token).size(), 4u);
  EXPECT_EQ(names("/v1/objects?kind=project", bob), (Names{"open"}));
  EXPECT_EQ(names("/v1/objects?kind=user", bob), (Names{"bob"}));
  EXPECT_EQ(names("/v1/objects?kind=limit", ada), (Names{"*"}));
  EXPECT_EQ(live.call("GET", "/v1/objects/pool/adas", nullptr, {}, &bob).code(), "no_such_pool");
  EXPECT_EQ(live.call("GET", "/v1/objects/pool/adas", nullptr, {}, &ada).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/objects/user/ada", nullptr, {}, &bob).status, 404);
}

TEST_F(AccessTest, AnybodyMayHaveTheConsolesPage) {
  const std::string nobody;
  const wire::Pairs browser{{"Accept", "text/html"}};
  const Answer page = live.call("GET", "/", nullptr, {}, &nobody);
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.response.header("Content-Security-Policy").find("default-src 'none'"),
            std::string_view::npos);
  EXPECT_EQ(live.call("GET", "/jobs/7", nullptr, browser, &nobody).response.body,
            page.response.body);
  EXPECT_EQ(live.call("GET", "/jobs/7", nullptr, {}, &nobody).code(), "no_such_path");
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, browser, &nobody).status, 401);
}

TEST_F(AccessTest, MetricsOfOthersWorkAreForAdministrators) {
  FakeAgent agent(live, "n1");
  Inventory inventory = controller::small_inventory();
  inventory.devices = {{"gpu", "nvidia", "H200", "GPU-1", 1 << 30, 0}};
  agent.also_said = {{"inventory", codec::inventory_json(inventory)}};
  agent.connect();
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  const Json project{{"users", {"ada"}}};
  ASSERT_EQ(live.call("PUT", "/v1/objects/project/vision", project).status, 200);
  Json body = small_job_body();
  body["gpus"] = 1;
  body["project"] = "vision";
  live.call("POST", "/v1/jobs", body, {}, &ada);
  agent.wait_line("launch");
  agent.tell("prepared", 1, 1);
  agent.tell("started", 1, 1);
  agent.tell("ended", 1, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  const auto page = [&](const std::string& token) {
    return live.call("GET", "/metrics", nullptr, {}, &token).response.body;
  };
  for (const char* series : {R"(user="ada")", R"(project="vision")"}) {
    EXPECT_NE(page(live.admin_token).find(series), std::string::npos) << series;
    EXPECT_NE(page(ada).find(series), std::string::npos) << series;
    EXPECT_EQ(page(bob).find(series), std::string::npos) << series;
  }
  EXPECT_NE(page(bob).find("dove_nodes_connected 1"), std::string::npos);
}

// What a running job's token is good for, by operation: on a job of the same user that is no
// family, and on the job itself (or where no job is named).
struct Rule {
  const char* stranger;  // the code of the refusal; "": allowed
  const char* own;
};
const Rule kFamily{"not_yours", ""};
const Rule kItself{"only_the_job", ""};
const Rule kFree{"", ""};
const Rule kPeople{"not_for_jobs", "not_for_jobs"};
const Rule kAdmins{"admin_only", "admin_only"};
const Rule kAgents{"token_invalid", "token_invalid"};
const Rule kJoin{"join_token_invalid", "join_token_invalid"};

using Rules = std::map<std::string, Rule>;

// Keys, sign-in, identity.
Rules rules_of_people() {
  return {
      {"getNotices", kPeople},
      {"setNotices", kPeople},
      {"testNotice", kPeople},
      {"setPassword", kPeople},
      {"removePassword", kAdmins},
      {"listKeys", kPeople},
      {"issueKey", kPeople},
      {"revokeKey", kPeople},
      {"listSecrets", kPeople},
      {"setSecret", kPeople},
      {"removeSecret", kPeople},
      {"rotateSecretKey", kAdmins},
      {"rotateAdminToken", kAdmins},
      {"listSshKeys", kPeople},
      {"addSshKey", kPeople},
      {"removeSshKey", kPeople},
      {"announceSshGateway", kAgents},
      {"getSshGateway", kFree},
      {"issueSshSignIn", kAgents},
      {"openSshSession", kPeople},
      {"signIn", kFree},
      {"signOut", kPeople},
      {"issueSignInCode", kPeople},
      {"getMe", kFree},
      {"getQuota", kFree},
      {"getUsage", kFree},
      {"openForward", kFamily},
      {"issueEntry", kPeople},
      {"tradeEntry", kFree},
      {"getEntry", kFamily},
      {"noteActivity", kFamily},
      {"shareJob", kPeople},
      {"unshareJob", kPeople},
      {"listSignInWays", kFree},
      {"beginSignIn", kFree},
      {"endSignIn", kFree},
      {"beginDeviceSignIn", kFree},
      {"waitForDeviceSignIn", kFree},
      {"getDeviceSignIn", kPeople},
      {"answerDeviceSignIn", kPeople},
      {"getIdentityIssuer", kFree},
      {"getIdentityKeys", kFree},
      {"issueIdentityToken", kItself},
      {"armBoot", kAdmins},
      {"getBootScript", kFree},
      {"issueBootToken", {"boot_not_from_here", "boot_not_from_here"}},
  };
}

Rules rules_of_work() {
  return {
      {"submitJob", kFree},         {"listJobs", kFree},          {"getJob", kFamily},
      {"deleteJob", kFamily},       {"cancelJob", kFamily},       {"holdJob", kFamily},
      {"releaseJob", kFamily},      {"requeueJob", kFamily},      {"noteCheckpoint", kFamily},
      {"setJobPriority", kFamily},  {"signalJob", kFamily},       {"whyJob", kFamily},
      {"getJobUse", kFamily},       {"waitForJob", kFamily},      {"readJobLog", kFamily},
      {"runStep", kFamily},         {"attachStep", kFamily},      {"writeStepInput", kFamily},
      {"openExec", kFamily},        {"listNodes", kFree},         {"getNode", kFree},
      {"removeNode", kAdmins},      {"drainNode", kAdmins},       {"askNode", kAdmins},
      {"planMaintenance", kAdmins}, {"planCare", kAdmins},        {"reportFinding", kAdmins},
      {"undrainNode", kAdmins},     {"listPools", kFree},         {"declareNodeOff", kAdmins},
      {"syncExecutor", kPeople},    {"syncWaitingJobs", kPeople}, {"listQueues", kFree},
      {"listObjects", kFree},       {"applyObjects", kPeople},    {"getObject", kFree},
      {"applyObject", kPeople},     {"deleteObject", kPeople},    {"issueUserToken", kAdmins},
      {"issueJoinToken", kAdmins},  {"getCluster", kFree},        {"getEvents", kFree},
      {"getHealth", kFree},         {"getReadiness", kFree},      {"getVersion", kFree},
      {"getMetrics", kPeople},      {"getOpenapi", kFree},        {"joinAgent", kJoin},
      {"syncAgent", kAgents},       {"streamOrders", kAgents},    {"takeReport", kAgents},
      {"takeRelayed", kAgents},     {"readStepInput", kAgents},   {"joinExec", kAgents},
      {"certifyNode", kAgents},     {"keepJob", kPeople},         {"listControllers", kAdmins},
      {"handOver", kAdmins},        {"acceptClock", kAdmins},     {"giveSecrets", kAgents},
      {"finishUpgrade", kAdmins},   {"listApps", kFree},          {"readLog", kAdmins},
      {"readLogSnapshot", kAdmins}, {"readLogBlobs", kAdmins},    {"sendExecutorOutput", kPeople},
  };
}

const Rules& rules() {
  static const Rules kRules = [] {
    Rules all = rules_of_work();
    all.merge(rules_of_people());
    return all;
  }();
  return kRules;
}

std::string filled(std::string path, std::uint64_t job) {
  const auto fill = [&path](const std::string& name, const std::string& value) {
    if (const std::size_t at = path.find(name); at != std::string::npos) {
      path.replace(at, name.size(), value);
    }
  };
  if (path.starts_with("/v1/jobs/")) fill("{id}", std::to_string(job));
  fill("{id}", "1");
  fill("{step}", "0");
  fill("{kind}", "pool");
  fill("{name}", path.starts_with("/v1/objects") ? "default" : "n1");
  // A task that is not there: the output of one that is would be waited for.
  return path.ends_with("/logs") ? path + "?rank=99" : path;
}

// What is looked at before the caller is.
Json body_for(const std::string& operation) {
  if (operation == "issueEntry") return Json{{"state", std::string(64, '0')}};
  if (operation == "shareJob") return Json{{"users", {"ada"}}};
  if (operation == "issueIdentityToken") return Json{{"audience", "store"}};
  if (operation == "setJobPriority") return Json{{"priority", 0}};
  if (operation == "signalJob") return Json{{"signal", "CONT"}};
  if (operation == "joinAgent") return Json{{"protocol", 1}, {"name", "n1"}};
  return Json::object();
}

TEST_F(AccessTest, AJobsTokenIsForItsFamilyOnEveryRoute) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const wire::Pairs ada{{"X-Dove-User", "ada"}};
  live.call("POST", "/v1/jobs", small_job_body("own"), ada);
  live.call("POST", "/v1/jobs", small_job_body("stranger"), ada);
  const std::string token = job_token(agent, 1);
  std::vector<listener::RouteWords> all;
  for (const ApiRoute& route : api_routes()) all.push_back(route.words);
  for (const auto& route : log_routes()) all.push_back(route.words);
  for (const auto& route : backends::agent_routes()) all.push_back(route.words);
  for (const listener::RouteWords& route : all) {
    const auto rule = rules().find(route.operation);
    ASSERT_NE(rule, rules().end()) << "say here what a job may do of " << route.operation;
    for (const bool own : {false, true}) {
      // What ends the job, or waits for its end, comes last, below.
      if (own &&
          std::set<std::string>{"deleteJob", "cancelJob", "requeueJob", "waitForJob"}.contains(
              route.operation)) {
        continue;
      }
      const std::string target = filled(route.path, own ? 1 : 2);
      const Json body = std::string(route.method) == "POST" ? body_for(route.operation) : Json();
      const Answer answer = live.call(route.method, target, body, {}, &token);
      const std::string wanted = own ? rule->second.own : rule->second.stranger;
      SCOPED_TRACE(fmt::format("{} {}: {}", route.method, target, answer.response.body));
      if (!wanted.empty()) {
        EXPECT_EQ(answer.code(), wanted);
      } else {
        EXPECT_NE(answer.status, 401);
        EXPECT_NE(answer.status, 403);
        EXPECT_LT(answer.status, 500);
      }
    }
  }
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/requeue", nullptr, {}, &token).status, 200);
}

// As api/authz.yaml has it: `on: own`.
TEST_F(AccessTest, OthersJobsAreNobodysToTouch) {
  FakeAgent agent(live, "n1");
  agent.connect();
  live.call("POST", "/v1/jobs", small_job_body(), {{"X-Dove-User", "ada"}});
  const std::string bob = user_token("bob");
  int tried = 0;
  for (const ApiRoute& route : api_routes()) {
    const listener::RouteWords& words = route.words;
    const bool of_job = std::string_view(words.path).starts_with("/v1/jobs/");
    if (!of_job || accounts::rule_of(words.operation).on != accounts::On::kOwn) continue;
    const Json body = std::string(words.method) == "POST" ? body_for(words.operation) : Json();
    const Answer answer = live.call(words.method, filled(words.path, 1), body, {}, &bob);
    EXPECT_EQ(answer.code(), "not_yours") << words.operation;
    ++tried;
  }
  EXPECT_EQ(tried, 19);
}

// Every operation on a job, by everybody with a role: as `on:` of api/authz.yaml has it. Job 1 is
// ada's in no project, job 2 is hers in project vision of domain corp.
class RoleAccessTest : public AccessTest {
 protected:
  void SetUp() override {
    for (const char* name :
         {"ada", "vic", "mem", "max", "pad", "dom", "aud", "cad", "eve", "oth"}) {
      tokens[name] = user_token(name);
    }
    Json objects{{{"kind", "Domain"}, {"name", "corp"}},
                 {{"kind", "Project"}, {"name", "vision"}, {"domain", "corp"}},
                 {{"kind", "Project"}, {"name", "other"}}};
    const auto bind = [&](const char* who, const char* role, const char* level, const char* name) {
      Json binding{{"kind", "Binding"}, {"name", who}, {"role", role}, {"users", {who}}};
      if (level != nullptr) binding[level] = name;
      objects.push_back(std::move(binding));
    };
    bind("vic", "viewer", "project", "vision");
    bind("mem", "member", "project", "vision");
    bind("max", "manager", "project", "vision");
    bind("pad", "admin", "project", "vision");
    bind("dom", "admin", "domain", "corp");
    bind("aud", "auditor", nullptr, nullptr);
    bind("cad", "admin", nullptr, nullptr);
    bind("oth", "admin", "project", "other");
    const Answer applied = live.call("POST", "/v1/objects", Json{{"objects", objects}});
    ASSERT_EQ(applied.status, 200) << applied.response.body;
    Json body = small_job_body();
    body["hold"] = true;
    live.call("POST", "/v1/jobs", body, {{"X-Dove-User", "ada"}});
    const Json all{{"role", "member"}, {"project", "vision"}, {"users", {"ada"}}};
    live.call("PUT", "/v1/objects/binding/ada", all);
    body["project"] = "vision";
    ASSERT_EQ(live.call("POST", "/v1/jobs", body, {}, &tokens["ada"]).status, 201);
  }

  using Names = std::set<std::string>;
  // Who may, by what the rule is about.
  static Names allowed(const std::string& operation, accounts::On on, bool in_project) {
    const Names enters{"openExec",   "openForward", "runStep",      "attachStep", "writeStepInput",
                       "issueEntry", "getEntry",    "noteActivity", "shareJob",   "unshareJob"};
    if (on == accounts::On::kJob) return {};
    if (on == accounts::On::kSeen) {
      return {"ada", "vic", "mem", "max", "pad", "dom", "aud", "cad", "eve", "oth"};
    }
    if (enters.contains(operation)) return {"ada", "cad"};
    Names names{"ada", "cad"};
    if (in_project) names.insert({"max", "pad", "dom"});
    if (on == accounts::On::kTeam) names.insert("aud");
    if (on == accounts::On::kTeam && in_project) names.insert({"vic", "mem"});
    return names;
  }

  std::map<std::string, std::string> tokens;
};

TEST_F(RoleAccessTest, EveryOperationOnAJobIsAsTheTableSays) {
  int tried = 0;
  for (const ApiRoute& route : api_routes()) {
    const listener::RouteWords& words = route.words;
    const std::string_view path = words.path;
    if (!path.starts_with("/v1/jobs/") || path.ends_with("/wait")) continue;
    const Json body = std::string(words.method) == "POST" ? body_for(words.operation) : Json();
    for (const int job : {1, 2}) {
      const Names may = allowed(words.operation, accounts::rule_of(words.operation).on, job == 2);
      for (const auto& [name, token] : tokens) {
        const Answer answer = live.call(words.method, filled(words.path, job), body, {}, &token);
        EXPECT_EQ(answer.status != 403, may.contains(name))
            << words.operation << " of job " << job << " by " << name << ": "
            << answer.response.body;
        EXPECT_LT(answer.status, 500);
        ++tried;
      }
    }
  }
  EXPECT_EQ(tried, 24 * 2 * 10);
}

TEST_F(AccessTest, WhatAJobSubmitsIsItsFamilyToo) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const wire::Pairs ada{{"X-Dove-User", "ada"}};
  live.call("POST", "/v1/jobs", small_job_body("own"), ada);
  live.call("POST", "/v1/jobs", small_job_body("stranger"), ada);
  const std::string own = job_token(agent, 1);
  ASSERT_EQ(live.call("POST", "/v1/jobs", small_job_body("child"), {}, &own).status, 201);
  const std::string child = job_token(agent, 3);
  Json grandchild = small_job_body("grandchild");
  grandchild["hold"] = true;
  ASSERT_EQ(live.call("POST", "/v1/jobs", grandchild, {}, &child).status, 201);
  EXPECT_EQ(live.call("GET", "/v1/jobs/4").body.at("parent"), 3);
  EXPECT_EQ(live.call("GET", "/v1/jobs/1").body.at("parent"), nullptr);
  std::vector<std::uint64_t> seen;
  const Answer listed = live.call("GET", "/v1/jobs", nullptr, {}, &own);
  for (const Json& job : listed.body.at("jobs")) seen.push_back(job.at("id"));
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 3, 4}));
  EXPECT_EQ(live.call("GET", "/v1/events?job=4", nullptr, {}, &own).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/events?job=2", nullptr, {}, &own).code(), "not_yours");
  std::set<std::uint64_t> told;
  const Answer events = live.call("GET", "/v1/events", nullptr, {}, &own);
  for (const Json& event : events.body.at("events")) told.insert(event.value("job", 0u));
  EXPECT_EQ(told, (std::set<std::uint64_t>{1, 3, 4}));
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/cancel", nullptr, {}, &child).code(), "not_yours");
  EXPECT_EQ(live.call("POST", "/v1/jobs/4/cancel", nullptr, {}, &own).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/jobs/4/wait", nullptr, {}, &own).status, 200);
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/cancel", nullptr, {}, &own).status, 200);
}

TEST_F(AccessTest, AnArrayIsOneFamily) {
  FakeAgent agent(live, "n1");
  agent.connect();
  Json body = small_job_body("sweep");
  body["array"] = {{"indices", {0, 1, 2}}};
  ASSERT_EQ(live.call("POST", "/v1/jobs", body, {{"X-Dove-User", "ada"}}).status, 201);
  const std::string second = job_token(agent, 2);
  const Answer all = live.call("POST", "/v1/jobs/1/cancel", nullptr, {}, &second);
  EXPECT_EQ(all.status, 200) << all.response.body;
  EXPECT_EQ(all.body.at("ids").size(), 3u);
}

// A new call that reads is for every controller, or here with what it takes of the leader.
TEST(Reads, AreForEveryControllerOrForTheLeaderAlone) {
  const std::set<std::string_view> of_the_leader = {
      "readJobLog",      "openExec",      "openForward",   "getEntry",
      "getJobUse",       "getSshGateway", "getBootScript",                  // agents, the gateway
      "listControllers", "getNotices",    "getHealth",     "getReadiness",  // how it does itself
      "listSignInWays",  "beginSignIn",   "endSignIn",     "getDeviceSignIn"};  // who is let in
  for (const ApiRoute& route : api_routes()) {
    const std::string_view operation = route.words.operation;
    const bool is_read = std::string_view(route.words.method) == "GET";
    EXPECT_EQ(is_read, is_standby_read(operation) != of_the_leader.contains(operation))
        << operation;
    if (is_standby_read(operation)) {
      const accounts::Rule& rule = accounts::rule_of(operation);
      EXPECT_TRUE(rule.who != accounts::Who::kAgent && rule.who != accounts::Who::kVisitor)
          << operation;
    }
  }
}

}  // namespace
}  // namespace dove::server
