// Keys: whose they are, what they are good for, and when they end.
#include <fmt/format.h>

#include <map>

#include "accounts/rules.h"
#include "server/api_fixture.h"
#include "server/routes.h"
#include "telemetry/clock.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

class Keys : public WithApi {
 protected:
  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  Json issue(const Json& body, const std::string* token = nullptr) {
    const Answer answer = live.call("POST", "/v1/keys", body, {}, token);
    EXPECT_EQ(answer.status, 201) << answer.response.body;
    return answer.body;
  }
  std::string code(const std::string& method, const std::string& target, const std::string& key,
                   const Json& body = nullptr) {
    return live.call(method, target, body, {}, &key).code();
  }
};

TEST_F(Keys, ABearerIsTheUserWithinTheScope) {
  const std::string ada = user_token("ada");
  const Json read = issue({{"name", "dashboard"}, {"scope", "read"}}, &ada);
  const Json jobs = issue({{"name", "ci"}}, &ada);
  EXPECT_EQ(jobs.at("scope"), "jobs");
  EXPECT_EQ(code("GET", "/v1/jobs", read.at("key")), "");
  EXPECT_EQ(code("POST", "/v1/jobs", read.at("key"), small_job_body()), "key_scope");
  EXPECT_EQ(code("POST", "/v1/jobs", jobs.at("key"), small_job_body("from-ci")), "");
  EXPECT_EQ(live.call("GET", "/v1/jobs/1").body.at("user"), "ada");
  EXPECT_EQ(code("POST", "/v1/keys", jobs.at("key"), {{"name", "more"}}), "key_scope");
  EXPECT_EQ(code("POST", "/v1/nodes/n1/drain", jobs.at("key")), "admin_only");
}

TEST_F(Keys, NoOperationTakesAKeyThatIsNotGoodForIt) {
  user_token("root");
  live.call("PUT", "/v1/objects/user/root", {{"admin", true}});
  const auto of = [&](const char* scope) {
    return issue({{"name", scope}, {"scope", scope}, {"user", "root"}}).at("key");
  };
  const std::map<KeyScope, Json> keys{
      {KeyScope::kRead, of("read")}, {KeyScope::kJobs, of("jobs")}, {KeyScope::kLog, of("log")}};
  for (const ApiRoute& route : api_routes()) {
    const accounts::Rule& rule = accounts::rule_of(route.words.operation);
    if (rule.who == accounts::Who::kAnyone || rule.who == accounts::Who::kGateway) continue;
    for (const auto& [scope, key] : keys) {
      if (holds(scope, rule.scope)) continue;
      EXPECT_EQ(code(route.words.method, route.words.path, key), "key_scope") << rule.operation;
    }
  }
}

TEST_F(Keys, ARevokedKeyIsDeadAtOnce) {
  const std::string ada = user_token("ada");
  const Json key = issue({{"name", "ci"}}, &ada);
  const std::string path = "/v1/keys/" + key.at("id").get<std::string>();
  const std::string bob = user_token("bob");
  EXPECT_EQ(code("DELETE", path, bob), "no_such_key");
  EXPECT_EQ(live.call("DELETE", path, nullptr, {}, &ada).status, 204);
  EXPECT_EQ(code("GET", "/v1/jobs", key.at("key")), "token_invalid");
}

TEST_F(Keys, ItsStreamsOfEventsEndWithIt) {
  const std::string ada = user_token("ada");
  const Json key = issue({{"name", "board"}, {"scope", "read"}}, &ada);
  bool over = false;
  wire::Request request;
  request.method = "GET";
  request.target = "/v1/events";
  request.headers = {{"Accept", "text/event-stream"},
                     {"Authorization", "Bearer " + key.at("key").get<std::string>()}};
  wire::AsyncClient reader(live.loop, "127.0.0.1", live.api->port());
  reader.call(std::move(request), [&](Result<wire::Response> answer) { over = answer.ok(); });
  live.submit(small_job_body());
  EXPECT_FALSE(over);
  live.call("DELETE", "/v1/keys/" + key.at("id").get<std::string>());
  EXPECT_TRUE(live.until([&] { return over; }));
}

TEST_F(Keys, AnEndedOneSaysSo) {
  user_token("ada");
  const std::string secret = "dovekey_of_a_year_ago";
  Key key{"0123456789ab", "ada", "old",
          KeyScope::kAll, {},    Instant{telemetry::now_us() - 1'000'000}};
  controller::Input input;
  input.events.push_back({KeyIssued{wire::sha256_hex(secret), key}, {}});
  bool done = false;
  live.controller.submit(std::move(input),
                         [&](const auto&) { live.loop.post([&] { done = true; }); });
  ASSERT_TRUE(live.until([&] { return done; }));
  const Answer answer = live.call("GET", "/v1/jobs", nullptr, {}, &secret);
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.code(), "key_expired");
  EXPECT_NE(answer.body.at("detail").get<std::string>().find("dove key create"), std::string::npos);
}

TEST_F(Keys, TheyGoWithTheirUser) {
  const std::string ada = user_token("ada");
  const Json key = issue({{"name", "ci"}}, &ada);
  live.call("DELETE", "/v1/objects/user/ada");
  EXPECT_EQ(code("GET", "/v1/jobs", key.at("key")), "token_invalid");
}

TEST_F(Keys, OnesOwnAreListedAndNoneIsShownAgain) {
  const std::string ada = user_token("ada");
  const std::string bob = user_token("bob");
  const Json key = issue({{"name", "ci"}, {"ttl_s", 60}}, &ada);
  issue({{"name", "bobs"}}, &bob);
  const Answer own = live.call("GET", "/v1/keys", nullptr, {}, &ada);
  ASSERT_EQ(own.body.at("keys").size(), 1U);
  EXPECT_EQ(own.body.at("keys").at(0).at("id"), key.at("id"));
  EXPECT_EQ(own.response.body.find(key.at("key").get<std::string>()), std::string::npos);
  EXPECT_EQ(live.call("GET", "/v1/keys").body.at("keys").size(), 2U);
  EXPECT_EQ(live.call("GET", "/v1/keys?user=bob").body.at("keys").size(), 1U);
  const std::string name = key.at("name");
  EXPECT_EQ(live.call("GET", "/v1/keys?user=ada&name=other," + name).body.at("keys").size(), 1U);
  EXPECT_EQ(live.call("GET", "/v1/keys?name=other").body.at("keys").size(), 0U);
}

TEST_F(Keys, WhatIsWrongIsNamed) {
  const std::string ada = user_token("ada");
  const auto refused = [&](const Json& body) { return code("POST", "/v1/keys", ada, body); };
  EXPECT_EQ(refused({{"scope", "read"}}), "missing_field");
  EXPECT_EQ(refused({{"name", "a"}, {"scope", "write"}}), "bad_value");
  EXPECT_EQ(refused({{"name", "a"}, {"ttl_s", 0}}), "out_of_range");
  EXPECT_EQ(refused({{"name", "a"}, {"ttl_s", 367 * 86'400}}), "out_of_range");
  EXPECT_EQ(refused({{"name", "a"}, {"user", "bob"}}), "admin_only");
  EXPECT_EQ(live.call("POST", "/v1/keys", {{"name", "a"}, {"user", "anm"}}).code(), "no_such_user");
}

TEST_F(Keys, AUserHasABoundedNumber) {
  const std::string ada = user_token("ada");
  for (int i = 0; i < 100; ++i) issue({{"name", fmt::format("k{}", i)}}, &ada);
  EXPECT_EQ(code("POST", "/v1/keys", ada, {{"name", "one more"}}), "too_many_keys");
}

}  // namespace
}  // namespace dove::server
