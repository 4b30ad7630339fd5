// SSH keys and sign-ins: whose they are, and what the gateway and its tokens are good for.
#include <fstream>

#include "accounts/rules.h"
#include "listener/identity.h"
#include "server/api_fixture.h"
#include "server/routes.h"
#include "server/ssh/ssh_entries.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

constexpr char kAdasKey[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tr ada@home";
constexpr char kOtherKey[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1t";

class Ssh : public WithApi {
 protected:
  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  std::string gateway_token() {
    std::ifstream file(live.directory() + "/ssh_gateway_token");
    std::string token;
    file >> token;
    return token;
  }
  Answer sign_in(const std::string& key, const std::string& job) {
    const std::string token = gateway_token();
    return live.call("POST", "/v1/ssh-sign-ins",
                     {{"key", key}, {"job", job}, {"address", "10.0.0.7"}}, {}, &token);
  }
  std::string submit(const std::string& token) {
    const Answer answer = live.call("POST", "/v1/jobs", small_job_body(), {}, &token);
    EXPECT_EQ(answer.status, 201) << answer.response.body;
    return std::to_string(answer.body.at("id").get<std::uint64_t>());
  }
  std::string code(const std::string& method, const std::string& target, const std::string& token,
                   const Json& body = nullptr) {
    return live.call(method, target, body, {}, &token).code();
  }
};

TEST_F(Ssh, PeopleLookAfterTheirOwnKeys) {
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  const std::string path = "/v1/users/ada/ssh-keys";
  EXPECT_EQ(code("POST", path, bob, {{"key", kAdasKey}}), "admin_only");
  const Answer added = live.call("POST", path, {{"key", kAdasKey}}, {}, &ada);
  ASSERT_EQ(added.status, 201) << added.response.body;
  EXPECT_EQ(added.body.at("comment"), "ada@home");
  EXPECT_EQ(live.call("POST", path, {{"key", kAdasKey}}, {}, &ada).status, 200);
  EXPECT_EQ(code("POST", path, ada, {{"key", "ssh-dss AAAA"}}), "weak_ssh_key");
  EXPECT_EQ(live.call("GET", path, nullptr, {}, &ada).body.at("keys").size(), 1U);
  EXPECT_EQ(code("GET", path, bob), "admin_only");
  const Json declared{{"ssh_keys", {kAdasKey, "ssh-dss AAAA"}}};
  const Answer refused = live.call("PUT", "/v1/objects/user/ada", declared);
  EXPECT_EQ(refused.code(), "weak_ssh_key");
  EXPECT_NE(refused.response.body.find("ssh_keys[1]"), std::string::npos);
  const std::string own = path + "/" + added.body.at("id").get<std::string>();
  EXPECT_EQ(code("DELETE", own, bob), "admin_only");
  EXPECT_EQ(live.call("DELETE", own, nullptr, {}, &ada).status, 204);
  EXPECT_EQ(live.call("DELETE", own, nullptr, {}, &ada).status, 404);
  EXPECT_EQ(live.call("POST", "/v1/users/nobody/ssh-keys", {{"key", kAdasKey}}).code(),
            "no_such_user");
}

TEST_F(Ssh, AKeyEntersItsUsersJobsAndNothingElse) {
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  live.call("POST", "/v1/users/ada/ssh-keys", {{"key", kAdasKey}});
  const std::string job = submit(ada);
  const std::string other = submit(ada);
  EXPECT_EQ(sign_in(kOtherKey, job).code(), "ssh_key_unknown");
  EXPECT_EQ(sign_in(kOtherKey, "999").code(), "ssh_key_unknown");
  EXPECT_EQ(sign_in(kAdasKey, "999").status, 404);
  EXPECT_EQ(sign_in(kAdasKey, submit(bob)).code(), "not_yours");
  const Answer in = sign_in(kAdasKey, job);
  ASSERT_EQ(in.status, 201) << in.response.body;
  EXPECT_EQ(in.body.at("user"), "ada");
  const std::string token = in.body.at("token");
  EXPECT_EQ(sign_in(kAdasKey, job).body.at("token"), token);
  EXPECT_EQ(code("GET", "/v1/jobs/" + job, token), "");
  EXPECT_EQ(code("GET", "/v1/jobs/" + other, token), "not_yours");
  EXPECT_EQ(code("GET", "/v1/jobs/" + other + "/exec", token), "not_yours");
  EXPECT_EQ(code("GET", "/v1/jobs/" + other + "/forward?port=80", token), "not_yours");
  EXPECT_EQ(code("GET", "/v1/jobs/" + job + "/forward?port=80", token), "not_running");
  EXPECT_EQ(code("GET", "/v1/jobs/" + job + "/exec", token), "not_running");
  EXPECT_EQ(code("POST", "/v1/sign-in", token, {{"token", token}}), "token_invalid");
}

TEST_F(Ssh, ATokenOfAConnectionIsRefusedByEveryOtherOperation) {
  const std::string ada = user_token("ada");
  live.call("POST", "/v1/users/ada/ssh-keys", {{"key", kAdasKey}});
  live.call("PUT", "/v1/objects/user/ada", {{"admin", true}});
  const std::string token = sign_in(kAdasKey, submit(ada)).body.at("token");
  const std::string gateway = gateway_token();
  for (const ApiRoute& route : api_routes()) {
    const accounts::Rule& rule = accounts::rule_of(route.words.operation);
    if (rule.who != accounts::Who::kPerson && rule.who != accounts::Who::kUser &&
        rule.who != accounts::Who::kAdmin) {
      continue;
    }
    EXPECT_EQ(code(route.words.method, route.words.path, gateway), "token_invalid")
        << rule.operation;
    const std::string_view name = rule.operation;
    if (name == "getJob" || name == "openExec" || name == "openForward") continue;
    EXPECT_EQ(code(route.words.method, route.words.path, token), "ssh_only") << name;
  }
}

TEST_F(Ssh, ATokenDiesWithItsKeyAndWithItsUser) {
  const std::string ada = user_token("ada");
  const Json key = live.call("POST", "/v1/users/ada/ssh-keys", {{"key", kAdasKey}}).body;
  const std::string job = submit(ada);
  const std::string path = "/v1/jobs/" + job;
  const std::string token = sign_in(kAdasKey, job).body.at("token");
  live.call("PUT", "/v1/objects/user/ada", {{"disabled", true}});
  EXPECT_EQ(code("GET", path, token), "user_disabled");
  EXPECT_EQ(sign_in(kAdasKey, job).code(), "user_disabled");
  live.call("PUT", "/v1/objects/user/ada", {{"disabled", false}});
  EXPECT_EQ(code("GET", path, token), "");
  live.call("DELETE", "/v1/users/ada/ssh-keys/" + key.at("id").get<std::string>());
  EXPECT_EQ(code("GET", path, token), "ssh_key_over");
  EXPECT_EQ(sign_in(kAdasKey, job).code(), "ssh_key_unknown");
  EXPECT_EQ(code("GET", path, token + "x"), "token_invalid");
}

TEST_F(Ssh, ASessionsKeyIsForOneJobAndAsLongAsWhatOpenedIt) {
  const std::string ada = user_token("ada");
  const Json key = live.call("POST", "/v1/keys", {{"name", "k"}, {"scope", "jobs"}}, {}, &ada).body;
  const std::string secret = key.at("key");
  const std::string job = submit(ada);
  const Json asked{{"key", kOtherKey}, {"job", job}};
  EXPECT_EQ(code("POST", "/v1/me/ssh-sessions", secret, asked), "no_ssh_gateway");
  const std::string gateway = gateway_token();
  const Json where{{"address", "127.0.0.1"}, {"port", 7722}, {"host_keys", {kAdasKey}}};
  EXPECT_EQ(code("PUT", "/v1/ssh-gateway", ada, where), "token_invalid");
  EXPECT_EQ(live.call("PUT", "/v1/ssh-gateway", where, {}, &gateway).status, 204);
  const Answer opened = live.call("POST", "/v1/me/ssh-sessions", asked, {}, &secret);
  ASSERT_EQ(opened.status, 201) << opened.response.body;
  EXPECT_EQ(opened.body.at("gateway").at("port"), 7722);
  EXPECT_EQ(sign_in(kOtherKey, submit(ada)).code(), "ssh_key_unknown");
  const std::string token = sign_in(kOtherKey, job).body.at("token");
  EXPECT_EQ(code("GET", "/v1/jobs/" + job, token), "");
  live.call("DELETE", "/v1/keys/" + key.at("id").get<std::string>());
  EXPECT_EQ(code("GET", "/v1/jobs/" + job, token), "ssh_key_over");
  EXPECT_EQ(code("POST", "/v1/me/ssh-sessions", user_token("bob"), asked), "not_yours");
}

// The administrator said yes to a `dove login`, and revokes its key.
TEST_F(Ssh, AConnectionEndsWithTheProgramThatTheAdministratorLetIn) {
  live.call("POST", "/v1/users/admin/token?create=1");
  const std::string none;
  const Json begun = live.call("POST", "/v1/device-sign-ins", {{"name", "dove"}}, {}, &none).body;
  const std::string user_code = begun.at("user_code");
  live.call("POST", "/v1/device-sign-ins/" + user_code, {{"approve", true}});
  const Json asked{{"device_code", begun.at("device_code")}};
  const Json key = live.call("POST", "/v1/device-sign-ins/wait", asked, {}, &none).body;
  const std::string secret = key.at("key");
  const std::string gateway = gateway_token();
  const Json where{{"address", "127.0.0.1"}, {"port", 7722}, {"host_keys", {kAdasKey}}};
  live.call("PUT", "/v1/ssh-gateway", where, {}, &gateway);
  const std::string job = submit(secret);
  ASSERT_EQ(code("POST", "/v1/me/ssh-sessions", secret, {{"key", kOtherKey}, {"job", job}}), "");
  const std::string token = sign_in(kOtherKey, job).body.at("token");
  EXPECT_EQ(code("GET", "/v1/jobs/" + job, token), "");
  live.call("DELETE", "/v1/keys/" + key.at("id").get<std::string>());
  EXPECT_EQ(code("GET", "/v1/jobs/" + job, token), "ssh_key_over");
}

// `dove ssh` by the administrator's token, which is replaced before the connection is opened.
TEST_F(Ssh, AKeyThatAFormerAdministratorsTokenRegisteredOpensNothing) {
  const std::string gateway = gateway_token();
  const Json where{{"address", "127.0.0.1"}, {"port", 7722}, {"host_keys", {kAdasKey}}};
  live.call("PUT", "/v1/ssh-gateway", where, {}, &gateway);
  const std::string job = submit(live.admin_token);
  const Json asked{{"key", kOtherKey}, {"job", job}};
  ASSERT_EQ(code("POST", "/v1/me/ssh-sessions", live.admin_token, asked), "");
  live.admin_token = live.call("POST", "/v1/admin-token", {{"overlap_s", 60}}).body.at("token");
  EXPECT_EQ(sign_in(kOtherKey, job).status, 201) << "they overlap";
  live.admin_token = live.call("POST", "/v1/admin-token").body.at("token");
  EXPECT_EQ(sign_in(kOtherKey, job).code(), "ssh_key_unknown");
  ASSERT_EQ(code("POST", "/v1/me/ssh-sessions", live.admin_token, asked), "");
  EXPECT_EQ(sign_in(kOtherKey, job).status, 201);
}

TEST_F(Ssh, NobodyLocksAnotherOutByRegisteringTheirKey) {
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  const std::string gateway = gateway_token();
  const Json where{{"address", "127.0.0.1"}, {"port", 7722}, {"host_keys", {kAdasKey}}};
  live.call("PUT", "/v1/ssh-gateway", where, {}, &gateway);
  live.call("POST", "/v1/users/ada/ssh-keys", {{"key", kAdasKey}});
  const std::string job = submit(ada);
  const std::string bobs = submit(bob);
  EXPECT_EQ(code("POST", "/v1/me/ssh-sessions", bob, {{"key", kAdasKey}, {"job", bobs}}), "");
  EXPECT_EQ(sign_in(kAdasKey, job).body.at("user"), "ada");
  EXPECT_EQ(code("POST", "/v1/me/ssh-sessions", ada, {{"key", kAdasKey}, {"job", job}}),
            "ssh_key_taken");
}

TEST(SshEntries, WhatIsOldIsForgotten) {
  SshEntries entries;
  ASSERT_TRUE(entries.open("k", {"ada", JobId(1), "t"}, 1000).ok());
  EXPECT_NE(entries.find("k", 1000 + SshEntries::kSession_us - 1), nullptr);
  EXPECT_EQ(entries.find("k", 1000 + SshEntries::kSession_us), nullptr);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(entries.open(std::to_string(i), {"bob", JobId(1), "t"}, 0).ok());
  }
  EXPECT_EQ(entries.open("more", {"bob", JobId(1), "t"}, 0).error().code, "rate_limited");
  EXPECT_TRUE(entries.open("more", {"ada", JobId(1), "t"}, 0).ok());
  EXPECT_FALSE(entries.gateway(0).has_value());
  entries.announce({"a", 1, {"k"}}, 5);
  EXPECT_TRUE(entries.gateway(6).has_value());
  EXPECT_FALSE(entries.gateway(200'000'000).has_value());
}

}  // namespace
}  // namespace dove::server
