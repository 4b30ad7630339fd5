// /v1/secrets: who keeps and sees what, and that no value comes out but to the agent that starts
// the job's tasks.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "server/api_fixture.h"
#include "server/secrets/vault.h"

namespace dove::server {
namespace {

const char kValue[] = "hunter2-hunter2";

class SecretsApi : public WithApi {
 protected:
  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  Answer set(const std::string& target, const std::string& token, const std::string& value) {
    return live.call("PUT", "/v1/secrets/" + target, Json(value), {}, &token);
  }
  std::string key_text() {
    std::ifstream file(live.directory() + "/secrets.key");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The project vision, with ada as its member and max as its manager.
  void found_vision() {
    live.call("PUT", "/v1/objects/project/vision", Json::object());
    const auto bind = [&](const char* role, const char* user) {
      live.call("PUT", fmt::format("/v1/objects/binding/{}", role),
                {{"role", role}, {"project", "vision"}, {"users", {user}}});
    };
    bind("member", "ada");
    bind("manager", "max");
  }
  static Json job_with(const Json& secrets) {
    Json body = small_job_body();
    body["secrets"] = secrets;
    return body;
  }
  // What the agent hears about the job's secrets.
  Answer given(const FakeAgent& agent, int job, int attempt = 1) {
    return live.call("GET", fmt::format("/v1/agents/n1/secrets/{}/{}", job, attempt), nullptr, {},
                     &agent.token);
  }
};

TEST_F(SecretsApi, AreOnesOwnAndNeverShown) {
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  ASSERT_EQ(set("hub", ada, kValue).status, 200);
  ASSERT_EQ(set("hub", bob, "another").status, 200);
  const Answer own = live.call("GET", "/v1/secrets", nullptr, {}, &ada);
  ASSERT_EQ(own.body.at("secrets").size(), 1U) << own.response.body;
  EXPECT_EQ(own.body.at("secrets").at(0).at("user"), "ada");
  EXPECT_EQ(live.call("GET", "/v1/secrets").body.at("secrets").size(), 2U);
  for (const char* path : {"/v1/secrets", "/v1/objects", "/v1/objects?kind=secret", "/v1/events"}) {
    const std::string text = live.call("GET", path).response.body;
    EXPECT_EQ(text.find(kValue), std::string::npos) << path;
    EXPECT_EQ(text.find("sealed"), std::string::npos) << path;
  }
  EXPECT_EQ(live.call("DELETE", "/v1/secrets/hub?user=ada", nullptr, {}, &bob).code(),
            "admin_only");
  EXPECT_EQ(live.call("DELETE", "/v1/secrets/hub", nullptr, {}, &ada).status, 204);
  EXPECT_EQ(live.call("GET", "/v1/secrets").body.at("secrets").size(), 1U);
}

TEST_F(SecretsApi, AProjectsAreItsManagersToKeep) {
  const std::string ada = user_token("ada");
  const std::string max = user_token("max");
  const std::string bob = user_token("bob");
  found_vision();
  EXPECT_EQ(set("hub?project=vision", ada, kValue).code(), "role_needed");
  EXPECT_EQ(set("hub?project=vision", bob, kValue).code(), "no_such_project");
  EXPECT_EQ(set("hub?project=vision", max, kValue).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/secrets", nullptr, {}, &ada).body.at("secrets").size(), 1U);
  EXPECT_EQ(live.call("GET", "/v1/secrets", nullptr, {}, &bob).body.at("secrets").size(), 0U);
  const auto found = [&](const char* filter) {
    return live.call("GET", std::string("/v1/secrets?") + filter).body.at("secrets").size();
  };
  EXPECT_EQ(found("name=hub,other"), 1U);
  EXPECT_EQ(found("name=other"), 0U);
  EXPECT_EQ(found("labels=team%3Dvision"), 0U);
  Json body = job_with({{{"secret", "vision/hub"}, {"variable", "HUB"}}});
  EXPECT_EQ(live.call("POST", "/v1/jobs", body, {}, &ada).code(), "secret_elsewhere");
  body["project"] = "vision";
  EXPECT_EQ(live.call("POST", "/v1/jobs", body, {}, &ada).status, 201);
  live.call("DELETE", "/v1/objects/project/vision");
}

TEST_F(SecretsApi, LabelsAreDeclaredByWhoeverMayWriteIt) {
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  const std::string max = user_token("max");
  found_vision();
  ASSERT_EQ(set("hub", ada, kValue).status, 200);
  ASSERT_EQ(set("hub?project=vision", max, kValue).status, 200);
  const auto label = [&](const char* name, const std::string& token, const Json& more = {}) {
    Json body{{"labels", {{"team", "vision"}}}};
    if (!more.is_null()) body.update(more);
    return live.call("PUT", fmt::format("/v1/objects/secret/{}", name), body, {}, &token);
  };
  EXPECT_EQ(label("user%2Fada%2Fhub", bob).code(), "not_declared") << "as if there were none";
  EXPECT_EQ(label("user%2Fada%2Fhub", bob, {{"version", "x"}}).code(), "not_declared");
  EXPECT_EQ(label("user%2Fada%2Fnone", bob).code(), "not_declared");
  EXPECT_EQ(label("user%2Fada%2Fhub", ada, {{"sealed", "YQ=="}}).code(), "not_declared");
  EXPECT_EQ(label("user%2Fada%2Fhub", ada, {{"user", "bob"}}).code(), "not_declared");
  EXPECT_EQ(label("project%2Fvision%2Fhub", ada).code(), "role_needed");
  EXPECT_EQ(label("user%2Fada%2Fhub", ada).body.value("change", ""), "update");
  EXPECT_EQ(label("project%2Fvision%2Fhub", max).body.value("change", ""), "update");
  const auto found = [&] {
    const Json body = live.call("GET", "/v1/objects?kind=secret&labels=team=vision").body;
    return body.at("objects").size();
  };
  EXPECT_EQ(found(), 2U);
  set("hub", ada, "another");
  EXPECT_EQ(found(), 2U) << "another value keeps them";
  // What a list shows can be applied again, and in a list, too.
  Json own = live.call("GET", "/v1/objects/secret/user%2Fada%2Fhub").body;
  own["labels"] = Json::object();
  const Json list{{"objects", {own}}};
  EXPECT_EQ(live.call("POST", "/v1/objects", list, {}, &bob).code(), "role_needed");
  const Answer taken = live.call("POST", "/v1/objects", list, {}, &ada);
  ASSERT_EQ(taken.status, 200) << taken.response.body;
  EXPECT_EQ(found(), 1U);
  live.call("DELETE", "/v1/objects/project/vision");
}

// Trying a list out copies the state: a secret of one's own is no reason to.
TEST_F(SecretsApi, OfAListWithMoreThanOwnSecretsNothingIsTried) {
  const std::string ada = user_token("ada");
  ASSERT_EQ(set("hub", ada, kValue).status, 200);
  const Json own{{"kind", "Secret"}, {"name", "user/ada/hub"}, {"labels", {{"a", "b"}}}};
  const auto code = [&](const Json& objects) {
    return live.call("POST", "/v1/objects", {{"objects", objects}}, {}, &ada).code();
  };
  EXPECT_EQ(code(Json::array({own})), "");
  const std::vector<Json> others{{{"kind", "Pool"}, {"name", "p"}, {"no_such_field", 1}},
                                 {{"kind", "NoSuchKind"}, {"name", "user/ada/hub"}},
                                 {{"kind", "Secret"}, {"name", "user/bob/hub"}},
                                 {{"kind", "Secret"}, {"name", 1}},
                                 {{"kind", "Secret"}},
                                 1};
  for (const Json& other : others) {
    EXPECT_EQ(code(Json::array({other})), "role_needed") << other;
    EXPECT_EQ(code(Json::array({own, other})), "role_needed") << other;
  }
  EXPECT_EQ(code(Json::array()), "role_needed");
  EXPECT_EQ(code(Json::array({{{"kind", "Secret"}, {"name", "user/ada/none"}}})), "not_declared");
}

TEST_F(SecretsApi, WhatIsOddIsRefused) {
  const std::string ada = user_token("ada");
  EXPECT_EQ(set("hub", ada, std::string(65537, 'x')).status, 413);
  EXPECT_EQ(set("hub", ada, "").code(), "missing_field");
  EXPECT_EQ(set("a%2Fb", ada, "x").code(), "bad_name");
  EXPECT_EQ(set("hub?user=bob&project=vision", ada, "x").code(), "given_twice");
  EXPECT_EQ(live.call("PUT", "/v1/secrets/hub?user=nobody", Json("x")).code(), "no_such_user");
  const auto code = [&](const Json& use) {
    return live.call("POST", "/v1/jobs", job_with(Json::array({use})), {}, &ada).code();
  };
  EXPECT_EQ(code({{"secret", "hub"}, {"variable", "HUB"}}), "secret_unknown");
  set("hub", ada, kValue);
  EXPECT_EQ(code({{"secret", "hub"}}), "missing_field");
  EXPECT_EQ(code({{"secret", "hub"}, {"file", "a/b"}}), "bad_value");
  EXPECT_EQ(code({{"secret", "hub"}, {"file", ".."}}), "bad_value");
  EXPECT_EQ(code({{"secret", "hub"}, {"variable", "DOVE_URL"}}), "bad_value");
  EXPECT_EQ(code({{"secret", "hub"}, {"variable", "A"}, {"executor", "slurm"}}), "unknown_field");
}

TEST_F(SecretsApi, OnlyTheNodeOfTheAttemptGetsTheValue) {
  const std::string ada = user_token("ada");
  set("hub", ada, kValue);
  FakeAgent agent(live, "n1");
  agent.also_said = {{"offers", {{"limits_memory", true}, {"gives_secrets", true}}}};
  agent.connect();
  const Json body = job_with({{{"secret", "hub"}, {"variable", "HUB"}}});
  ASSERT_EQ(live.call("POST", "/v1/jobs", body, {}, &ada).status, 201);
  const Json order = agent.wait_line("launch");
  EXPECT_EQ(order.dump().find(kValue), std::string::npos);
  const Answer values = given(agent, 1);
  ASSERT_EQ(values.status, 200) << values.response.body;
  EXPECT_EQ(values.body.at("secrets").at(0).at("value"), "aHVudGVyMi1odW50ZXIy");
  EXPECT_EQ(given(agent, 1, 2).code(), "not_here");
  EXPECT_EQ(given(agent, 7).code(), "not_here");
  agent.tell("launch_failed", 1, 1, {{"why", "no"}});
  EXPECT_TRUE(live.until([&] { return given(agent, 1).code() == "not_here"; }));
}

TEST_F(SecretsApi, AnAgentThatCannotGiveThemIsNotSentTheJob) {
  const std::string ada = user_token("ada");
  set("hub", ada, kValue);
  FakeAgent agent(live, "n1");
  agent.connect();
  const Json body = job_with({{{"secret", "hub"}, {"variable", "HUB"}}});
  ASSERT_EQ(live.call("POST", "/v1/jobs", body, {}, &ada).status, 201);
  ASSERT_TRUE(live.until([&] {
    return live.call("GET", "/v1/events").response.body.find("too old to give tasks secrets") !=
           std::string::npos;
  }));
  for (const Json& line : agent.lines) EXPECT_NE(line.value("order", ""), "launch");
}

TEST_F(SecretsApi, ANewKeySealsThemAll) {
  const std::string ada = user_token("ada");
  for (int i = 0; i < 60; ++i) set(fmt::format("s{}", i), ada, kValue);
  const std::string before = key_text();
  EXPECT_EQ(before.size(), 65U);
  const Answer rotated = live.call("POST", "/v1/secret-keys");
  EXPECT_EQ(rotated.status, 200) << rotated.response.body;
  EXPECT_EQ(rotated.body.at("resealed"), 60);
  EXPECT_EQ(key_text().size(), 65U);
  EXPECT_NE(key_text(), before);
  EXPECT_EQ(live.call("POST", "/v1/secret-keys", nullptr, {}, &ada).code(), "admin_only");
}

TEST_F(SecretsApi, NoNewKeyIsMadeWhereOneIsMissing) {
  const std::string ada = user_token("ada");
  set("hub", ada, kValue);
  const std::string path = live.directory() + "/secrets.key";
  const std::string other = std::string(64, 'a') + "\n";
  std::ofstream(path) << other;
  EXPECT_EQ(live.call("POST", "/v1/secret-keys").code(), "secrets_key_missing");
  EXPECT_EQ(key_text(), other);
}

TEST_F(SecretsApi, TheyGoWithTheirUser) {
  const std::string ada = user_token("ada");
  set("hub", ada, kValue);
  live.call("DELETE", "/v1/objects/user/ada");
  EXPECT_EQ(live.call("GET", "/v1/secrets").body.at("secrets").size(), 0U);
}

TEST(Vault, AnotherKeyIsNamedInTheRefusal) {
  const std::string folder = make_directory();
  Vault ours(folder + "/secrets.key");
  Vault other(folder + "/other.key");
  Secret secret{"user/ada/hub", "ada", "", *ours.seal("user/ada/hub", "value"), {}};
  EXPECT_EQ(*ours.open(secret), "value");
  EXPECT_EQ(*Vault(folder + "/secrets.key").open(secret), "value");
  EXPECT_EQ(other.open(secret).error().code, "secrets_key_missing");
  const std::map<std::string, Secret> kept{{secret.name, secret}};
  EXPECT_EQ(other.check(kept).error().code, "secrets_key_missing");
  ASSERT_TRUE(other.seal("user/ada/hub", "x").ok());
  EXPECT_EQ(other.check(kept).error().code, "secrets_key_missing") << "with a key of its own, too";
  EXPECT_TRUE(ours.check(kept).ok());
  secret.name = "user/bob/hub";
  EXPECT_EQ(ours.open(secret).error().code, "cannot_unseal");
  std::filesystem::remove_all(folder);
}

TEST(Vault, AFileOfKeysThatCannotBeReadIsNeverWrittenOver) {
  const std::string folder = make_directory();
  const std::string path = folder + "/secrets.key";
  const auto text = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  Vault ours(path);
  const Secret secret{"user/ada/hub", "ada", "", *ours.seal("user/ada/hub", "value"), {}};
  const std::string damaged = text().substr(0, 60) + "\n";
  std::ofstream(path) << damaged;
  Vault anew(path);
  EXPECT_EQ(anew.open(secret).error().code, "secrets_key_damaged");
  EXPECT_EQ(anew.seal("user/ada/key", "x").error().code, "secrets_key_damaged");
  EXPECT_EQ(anew.begin_rotation({}).error().code, "secrets_key_damaged");
  EXPECT_EQ(text(), damaged);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_EQ(anew.seal("user/ada/key", "x").error().code, "file_unreadable");
  EXPECT_EQ(anew.begin_rotation({}).error().code, "file_unreadable");
  EXPECT_EQ(anew.open(secret).error().code, "file_unreadable");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dove::server
