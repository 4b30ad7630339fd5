// A program is let in by somebody who is signed in: `dove login`.
#include "server/api_fixture.h"

namespace dove::server {
namespace {

const std::string kNoToken;

class Device : public WithApi {
 protected:
  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  Json begin(const std::string& name = "dove on laptop") {
    const Answer begun = live.call("POST", "/v1/device-sign-ins", {{"name", name}}, {}, &kNoToken);
    EXPECT_EQ(begun.status, 201) << begun.response.body;
    return begun.body;
  }
  // The answer to a program that waits; asked before `meanwhile` is done.
  Answer wait(const Json& begun, const std::function<void()>& meanwhile = nullptr) {
    wire::Request request;
    request.method = "POST";
    request.target = "/v1/device-sign-ins/wait";
    request.body = Json{{"device_code", begun.at("device_code")}, {"wait_s", 20}}.dump();
    std::optional<Answer> answer;
    wire::AsyncClient other(live.loop, "127.0.0.1", live.api->port());
    other.call(std::move(request), [&](const Result<wire::Response>& response) {
      CHECK(response.ok(), "it is answered");
      answer = Answer{response->status, Json::parse(response->body, nullptr, false), *response};
    });
    if (meanwhile) meanwhile();
    EXPECT_TRUE(live.until([&] { return answer.has_value(); }));
    return answer.value_or(Answer{});
  }
  Answer decide(const Json& begun, bool approve, const std::string& token) {
    return live.call("POST", "/v1/device-sign-ins/" + begun.at("user_code").get<std::string>(),
                     {{"approve", approve}}, {}, &token);
  }
};

TEST_F(Device, IsLetInAsWhoeverSaysYes) {
  const std::string ada = user_token("ada");
  const Json begun = begin();
  const std::string code = begun.at("user_code");
  EXPECT_EQ(begun.at("path"), "/device?code=" + code);
  // As somebody types it.
  const std::string typed = code.substr(0, 4) + code.substr(5);
  const Answer asked = live.call("GET", "/v1/device-sign-ins/" + typed, nullptr, {}, &ada);
  EXPECT_EQ(asked.body.at("name"), "dove on laptop");
  EXPECT_EQ(asked.body.at("address"), "127.0.0.1");
  const Answer let_in = wait(begun, [&] { EXPECT_EQ(decide(begun, true, ada).status, 204); });
  ASSERT_EQ(let_in.status, 200) << let_in.response.body;
  const std::string key = let_in.body.at("key");
  const Json me = live.call("GET", "/v1/me", nullptr, {}, &key).body;
  EXPECT_EQ(me.at("user"), "ada");
  EXPECT_EQ(me.at("key").at("name"), "dove on laptop");
  EXPECT_EQ(me.at("key").at("scope"), "all");
  // Both codes are good once.
  EXPECT_EQ(wait(begun).code(), "device_code_unknown");
  EXPECT_EQ(decide(begun, true, ada).code(), "user_code_unknown");
}

TEST_F(Device, HearsOfAnAnswerThatCameBeforeItAsked) {
  const std::string ada = user_token("ada");
  const Json begun = begin();
  EXPECT_EQ(decide(begun, true, ada).status, 204);
  // Nobody changes an answer that was given.
  EXPECT_EQ(decide(begun, false, ada).code(), "user_code_unknown");
  EXPECT_EQ(wait(begun).body.value("user", ""), "ada");
}

TEST_F(Device, HearsARefusal) {
  const std::string ada = user_token("ada");
  const Json begun = begin();
  const Answer refused = wait(begun, [&] { decide(begun, false, ada); });
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.code(), "device_refused");
  EXPECT_TRUE(live.call("GET", "/v1/keys", nullptr, {}, &ada).body.at("keys").empty());
}

TEST_F(Device, IsLetInByPeopleWithAllTheirPowerAlone) {
  const std::string ada = user_token("ada");
  const Json begun = begin();
  EXPECT_EQ(decide(begun, true, kNoToken).code(), "token_missing");
  const Answer made = live.call("POST", "/v1/keys", {{"name", "ci"}, {"scope", "jobs"}}, {}, &ada);
  const std::string key = made.body.at("key");
  EXPECT_EQ(decide(begun, true, key).code(), "key_scope");
  // The administrator's own session lets in as the administrator.
  EXPECT_EQ(decide(begun, true, live.admin_token).status, 204);
  const std::string admin = wait(begun).body.at("key");
  EXPECT_EQ(live.call("GET", "/v1/me", nullptr, {}, &admin).body.at("admin"), true);
}

// What `dove token rotate` makes is a key of the administrator's, too, and is told from one that
// was let in, whatever this calls itself.
TEST_F(Device, WhatTheAdministratorLetsInIsNoTokenOfTheirs) {
  for (const char* name : {"dove on laptop", "former-admin-token"}) {
    const Json begun = begin(name);
    ASSERT_EQ(decide(begun, true, live.admin_token).status, 204);
    const std::string key = wait(begun).body.at("key");
    const Answer me = live.call("GET", "/v1/me", nullptr, {{"X-Dove-User", "ada"}}, &key);
    EXPECT_EQ(me.body.at("user"), "admin") << name;
  }
}

TEST_F(Device, ThereAreOnlySoManyOfAnAddress) {
  for (int i = 0; i < 20; ++i) begin();
  const Answer more = live.call("POST", "/v1/device-sign-ins", {{"name", "x"}}, {}, &kNoToken);
  EXPECT_EQ(more.status, 429);
  EXPECT_EQ(more.code(), "rate_limited");
}

TEST_F(Device, WhatIsWrongIsNamed) {
  EXPECT_EQ(
      live.call("POST", "/v1/device-sign-ins", Json::object(), {}, &kNoToken).body.at("field"),
      "name");
  EXPECT_EQ(
      live.call("POST", "/v1/device-sign-ins/wait", Json::object(), {}, &kNoToken).body.at("field"),
      "device_code");
  EXPECT_EQ(live.call("GET", "/v1/device-sign-ins/BCDF-GHJK").code(), "user_code_unknown");
  EXPECT_EQ(live.call("POST", "/v1/device-sign-ins/BCDF-GHJK", {{"aprove", true}}).body.at("field"),
            "aprove");
}

// The services themselves: tests/e2e/sign_in_test.py.
TEST_F(Device, WaysToSignInAreShownToStrangers) {
  const Answer ways = live.call("GET", "/v1/sign-in", nullptr, {}, &kNoToken);
  EXPECT_EQ(ways.body, Json({{"ways", Json::array()},
                             {"passwords", false},
                             {"local_passwords", false},
                             {"site_passwords", false}}));
  EXPECT_EQ(live.call("GET", "/v1/sign-in/corp", nullptr, {}, &kNoToken).code(), "no_such_way");
  EXPECT_EQ(live.call("GET", "/v1/sign-in/corp/callback", nullptr, {}, &kNoToken).status, 404);
}

}  // namespace
}  // namespace dove::server
