// Signing in: the cookie, what it is good for, and codes.
#include <fmt/format.h>

#include <set>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

const std::string kNoToken;

class SignIn : public WithApi {
 protected:
  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  Answer sign_in(const std::string& token) {
    return live.call("POST", "/v1/sign-in", Json{{"token", token}}, {}, &kNoToken);
  }
  // "__Host-dove=..." as a browser sends it.
  std::string cookie(const Answer& signed_in) {
    EXPECT_EQ(signed_in.status, 201) << signed_in.response.body;
    const std::string text(signed_in.response.header("Set-Cookie"));
    EXPECT_NE(text.find("; HttpOnly"), std::string::npos);
    return text.substr(0, text.find(';'));
  }
  Answer browse(const std::string& method, const std::string& target, const std::string& cookie,
                const Json& body = nullptr, std::string origin = "") {
    const std::string host = "127.0.0.1:" + std::to_string(live.api->port());
    if (origin.empty()) origin = "http://" + host;
    return live.call(method, target, body,
                     {{"Cookie", "theme=dark; " + cookie}, {"Origin", origin}, {"Host", host}},
                     &kNoToken);
  }
};

TEST_F(SignIn, ASessionIsTheUserForItsOwnPageAlone) {
  const std::string ada = cookie(sign_in(user_token("ada")));
  const Answer me = browse("GET", "/v1/me", ada);
  EXPECT_EQ(me.body.at("user"), "ada");
  EXPECT_EQ(me.body.at("key").at("kind"), "session");
  EXPECT_EQ(browse("POST", "/v1/jobs", ada, small_job_body()).status, 201);
  EXPECT_EQ(live.call("GET", "/v1/jobs/1").body.at("user"), "ada");
  const Answer forged =
      browse("POST", "/v1/jobs/1/cancel", ada, nullptr, "https://evil.example.org");
  EXPECT_EQ(forged.status, 403);
  EXPECT_EQ(forged.code(), "cross_origin");
  EXPECT_EQ(browse("POST", "/v1/jobs/1/cancel", ada, nullptr, "null").code(), "cross_origin");
  // Nor is it a bearer token.
  const std::string secret = ada.substr(ada.find('=') + 1);
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &secret).code(), "token_invalid");
}

TEST_F(SignIn, EndsWithSigningOut) {
  const std::string ada = cookie(sign_in(user_token("ada")));
  const Answer out = browse("POST", "/v1/sign-out", ada);
  EXPECT_EQ(out.status, 204);
  EXPECT_NE(out.response.header("Set-Cookie").find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(browse("GET", "/v1/me", ada).code(), "session_over");
}

TEST_F(SignIn, TheAdministratorsTokenSignsInToo) {
  const std::string admin = cookie(sign_in(live.admin_token));
  EXPECT_EQ(browse("GET", "/v1/me", admin).body.at("admin"), true);
  EXPECT_EQ(browse("POST", "/v1/join-tokens", admin, Json{{"node", "n1"}}).status, 201);
}

TEST_F(SignIn, ACodeIsGoodOnce) {
  const std::string ada = user_token("ada");
  const Json code = live.call("POST", "/v1/sign-in-codes", nullptr, {}, &ada).body.at("code");
  const std::string text = code;
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &text).code(), "token_invalid");
  EXPECT_EQ(browse("GET", "/v1/me", cookie(sign_in(code))).body.at("user"), "ada");
  EXPECT_EQ(sign_in(code).code(), "token_invalid");
  // A session makes codes for other sessions: those of the administrator, too.
  const std::string admin = cookie(sign_in(live.admin_token));
  const Json next = browse("POST", "/v1/sign-in-codes", admin).body.at("code");
  EXPECT_EQ(browse("GET", "/v1/me", cookie(sign_in(next))).body.at("admin"), true);
}

TEST_F(SignIn, ASessionIsNoMoreThanTheKeyThatItBeganWith) {
  const std::string ada = user_token("ada");
  const Json key = live.call("POST", "/v1/keys",
                             Json{{"name", "board"}, {"scope", "read"}, {"ttl_s", 60}}, {}, &ada)
                       .body;
  const Answer answer = sign_in(key.at("key"));
  EXPECT_LE(answer.body.at("key").at("expires_at_us"), key.at("expires_at_us"));
  EXPECT_EQ(browse("POST", "/v1/jobs", cookie(answer), small_job_body()).code(), "key_scope");
}

TEST_F(SignIn, WhoeverIsDisabledIsOut) {
  const std::string ada = user_token("ada");
  const std::string session = cookie(sign_in(ada));
  live.call("PUT", "/v1/objects/user/ada", Json{{"disabled", true}});
  EXPECT_EQ(browse("GET", "/v1/me", session).code(), "user_disabled");
  EXPECT_EQ(live.call("GET", "/v1/jobs", nullptr, {}, &ada).code(), "user_disabled");
  EXPECT_EQ(sign_in(ada).code(), "user_disabled");
  const Answer submitted =
      live.call("POST", "/v1/jobs", small_job_body(), {{"X-Dove-User", "ada"}});
  EXPECT_EQ(submitted.code(), "user_disabled");
  live.call("PUT", "/v1/objects/user/ada", Json{{"disabled", false}});
  EXPECT_EQ(browse("GET", "/v1/me", session).status, 200);
}

TEST_F(SignIn, WhatIsForgedIsRefusedAndWrittenDown) {
  std::multiset<std::string> refused;
  wire::StreamCallbacks callbacks;
  callbacks.on_line = [&](std::string_view line) {
    if (!line.starts_with("data: ")) return;
    const Json data = Json::parse(line.substr(6)).at("data");
    refused.insert(fmt::format("{} {} {}", data.at("operation").get<std::string>(),
                               data.at("code").get<std::string>(), data.at("times").get<int>()));
  };
  wire::Request request;
  request.method = "GET";
  request.target = "/v1/events?audit=1&kind=CallsRefused";
  request.headers = {{"Accept", "text/event-stream"},
                     {"Authorization", "Bearer " + live.admin_token}};
  const auto reading = live.client->open_stream(std::move(request), std::move(callbacks));
  EXPECT_EQ(browse("GET", "/v1/me", "__Host-dove=forged").code(), "session_over");
  EXPECT_EQ(sign_in("wrong").code(), "token_invalid");
  EXPECT_EQ(sign_in("").code(), "missing_field");
  EXPECT_EQ(sign_in("1.1.forged").code(), "token_invalid");
  ASSERT_TRUE(live.until([&] { return refused.size() == 2; }));
  EXPECT_EQ(refused,
            (std::multiset<std::string>{"getMe session_over 1", "signIn token_invalid 2"}));
}

}  // namespace
}  // namespace dove::server
