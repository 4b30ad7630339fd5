// Ways in to the apps of jobs: who may, what the token of an entry is good for, and when it ends.
#include <gtest/gtest.h>

#include "server/api_fixture.h"
#include "wire/secret.h"
#include "wire/web_socket/web_socket.h"

namespace dove::server {
namespace {

constexpr char kOrigin[] = "https://j1.apps.example.org";
constexpr char kNonce[] = "nonce";

class SessionsTest : public testing::Test {
 protected:
  SessionsTest() {
    for (const char* name : {"ada", "bob", "eve"}) {
      tokens[name] =
          live.call("POST", "/v1/users/" + std::string(name) + "/token?create=1").body.at("token");
    }
    agent.connect();
    Json body = small_job_body("lab");
    body["app"] = {{"name", "notebook"}, {"port", 8888}, {"path", "/lab"}};
    CHECK(live.call("POST", "/v1/jobs", body, {}, &tokens["ada"]).status == 201, "it is accepted");
    agent.wait_line("launch");
    CHECK(agent.tell("started", 1, 1).status == 200, "it runs");
  }

  Answer as(const std::string& token, const char* method, const std::string& target,
            const Json& body = nullptr) {
    return live.call(method, target, body, {}, &token);
  }
  Answer issue(const std::string& who) {
    return as(tokens[who], "POST", "/v1/jobs/1/entries", Json{{"state", wire::sha256_hex(kNonce)}});
  }
  Answer trade(const std::string& code, const std::string& nonce = kNonce,
               const std::string& origin = kOrigin) {
    return as("", "POST", "/v1/entries",
              Json{{"code", code}, {"nonce", nonce}, {"origin", origin}});
  }
  std::string enter(const std::string& who) {
    return trade(issue(who).body.at("code")).body.at("token");
  }
  Answer share(const std::string& who, const Json& users) {
    return as(tokens[who], "POST", "/v1/jobs/1/shares", Json{{"users", users}});
  }

  store::MemoryStore store;
  LiveApi live{
      store, policies::standard_policies(), {.sessions_url = "https://*.apps.example.org"}};
  FakeAgent agent{live, "n1"};
  std::map<std::string, std::string> tokens;
};

TEST_F(SessionsTest, ACodeLeadsToATokenOnce) {
  const Answer issued = issue("ada");
  ASSERT_EQ(issued.status, 201) << issued.response.body;
  EXPECT_EQ(issued.body.at("origin"), kOrigin);
  const std::string code = issued.body.at("code");
  EXPECT_GE(code.size(), 43U);
  const Answer traded = trade(code);
  ASSERT_EQ(traded.status, 201) << traded.response.body;
  EXPECT_EQ(traded.body.at("job"), 1);
  EXPECT_EQ(traded.body.at("user"), "ada");
  EXPECT_EQ(traded.body.at("path"), "/lab");
  EXPECT_GT(traded.body.at("expires_at_us"), traded.body.at("now_us"));
  EXPECT_EQ(trade(code).code(), "entry_code_invalid");
  EXPECT_EQ(trade(issue("ada").body.at("code"), "another").code(), "entry_code_invalid");
  EXPECT_EQ(trade(issue("ada").body.at("code"), kNonce, "https://j2.apps.example.org").code(),
            "entry_code_invalid");
}

TEST_F(SessionsTest, TheTokenOfAnEntryIsGoodForTheAppAlone) {
  const std::string token = enter("ada");
  const Answer seen = as(token, "GET", "/v1/jobs/1/entry");
  EXPECT_EQ(seen.status, 200) << seen.response.body;
  EXPECT_EQ(seen.body.at("app"), "notebook");
  EXPECT_EQ(seen.body.at("state"), "running");
  EXPECT_EQ(seen.body.at("may_read"), true);
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/forward?app=1").code(), "upgrade_required");
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/forward?port=8888").code(), "upgrade_required");
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/forward?port=22").code(), "not_yours");
  EXPECT_EQ(as(token, "POST", "/v1/jobs/1/activity", Json{{"input_ago_ms", 5}}).status, 204);
  for (const char* target : {"/v1/jobs", "/v1/jobs/1", "/v1/me", "/v1/jobs/1/exec", "/v1/events",
                             "/v1/keys", "/v1/objects", "/v1/cluster"}) {
    EXPECT_EQ(as(token, "GET", target).code(), "not_for_entries") << target;
  }
  EXPECT_EQ(as(token, "POST", "/v1/jobs/1/cancel").code(), "not_for_entries");
  EXPECT_EQ(as(token, "POST", "/v1/jobs/1/shares", Json{{"users", {"bob"}}}).code(),
            "not_for_entries");
  EXPECT_EQ(as(token, "POST", "/v1/sign-in", Json{{"token", token}}).status, 401);
}

TEST_F(SessionsTest, AndForNoOtherJob) {
  Json body = small_job_body("second");
  body["app"] = {{"name", "notebook"}, {"port", 8888}};
  live.call("POST", "/v1/jobs", body, {}, &tokens["ada"]);
  const std::string token = enter("ada");
  for (const char* target : {"/v1/jobs/2/entry", "/v1/jobs/2/forward?app=1", "/v1/jobs/2/logs"}) {
    EXPECT_EQ(as(token, "GET", target).code(), "not_yours") << target;
  }
  EXPECT_EQ(as(token, "POST", "/v1/jobs/2/activity", Json::object()).code(), "not_yours");
}

TEST_F(SessionsTest, WhoeverItIsSharedWithEntersAndDoesNothingElse) {
  EXPECT_EQ(issue("bob").code(), "not_yours");
  EXPECT_EQ(share("bob", {"bob"}).code(), "not_yours");
  const Answer shared = share("ada", {"bob"});
  ASSERT_EQ(shared.status, 200) << shared.response.body;
  EXPECT_EQ(shared.body.at("shared_with"), Json({"bob"}));
  const std::string& bob = tokens["bob"];
  EXPECT_EQ(as(bob, "GET", "/v1/jobs/1/forward?port=8888").code(), "upgrade_required");
  EXPECT_EQ(as(bob, "GET", "/v1/jobs/1/forward?app=1").code(), "upgrade_required");
  for (const char* target :
       {"/v1/jobs/1/forward?port=22", "/v1/jobs/1/forward?port=8888&task=1",
        "/v1/jobs/1/forward?socket=app", "/v1/jobs/1/exec", "/v1/jobs/1/logs"}) {
    EXPECT_EQ(as(bob, "GET", target).code(), "not_yours") << target;
  }
  EXPECT_EQ(as(bob, "POST", "/v1/jobs/1/cancel").code(), "not_yours");
  EXPECT_EQ(share("bob", {"eve"}).code(), "not_yours");
  const std::string token = enter("bob");
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/entry").body.at("may_read"), false);
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/logs").code(), "not_yours");
  const Json job = as(bob, "GET", "/v1/jobs/1").body;
  EXPECT_EQ(job.at("session_url"), "https://j1.apps.example.org/lab");
  EXPECT_FALSE(job.contains("exec"));
  EXPECT_FALSE(as(tokens["eve"], "GET", "/v1/jobs/1").body.contains("session_url"));
}

TEST_F(SessionsTest, AListOfThemIsOfThoseThatTheCallerMayEnter) {
  live.call("POST", "/v1/jobs", small_job_body("no session"), {}, &tokens["ada"]);
  const auto listed = [&](const std::string& token) {
    return as(token, "GET", "/v1/jobs?app=1&state=waiting,active").body.at("jobs");
  };
  const Json own = listed(tokens["ada"]);
  ASSERT_EQ(own.size(), 1u) << own;
  EXPECT_EQ(own[0].at("id"), 1);
  EXPECT_EQ(own[0].at("app").at("name"), "notebook");
  EXPECT_EQ(own[0].at("image"), "");
  EXPECT_EQ(own[0].at("session_url"), "https://j1.apps.example.org/lab");
  EXPECT_FALSE(own[0].contains("exec"));
  EXPECT_EQ(listed(tokens["bob"]).size(), 0u);
  share("ada", {"bob"});
  EXPECT_EQ(listed(tokens["bob"]).at(0).at("shared_with"), Json({"bob"}));
  EXPECT_EQ(as(tokens["ada"], "GET", "/v1/jobs?app=maybe").code(), "bad_parameter");
}

TEST_F(SessionsTest, AShareThatIsTakenBackEndsWhatIsOpen) {
  share("ada", {"bob", "eve"});
  const std::string token = enter("bob");
  std::optional<Error> closed;
  std::string heard;
  wire::Request request;
  request.target = "/v1/jobs/1/forward?app=1";
  request.headers = {{"Authorization", "Bearer " + token}};
  wire::WebSocketCallbacks callbacks;
  bool open = false;
  callbacks.on_open = [&] { open = true; };
  callbacks.on_text = [&](std::string_view text) { heard = text; };
  callbacks.on_closed = [&](Error error) { closed = std::move(error); };
  const auto socket = wire::connect_web_socket(live.loop, {"127.0.0.1", live.api->port()},
                                               std::move(request), std::move(callbacks));
  ASSERT_TRUE(live.until([&] { return open; }));
  const Answer back = as(tokens["ada"], "DELETE", "/v1/jobs/1/shares/bob");
  EXPECT_EQ(back.body.at("shared_with"), Json({"eve"})) << back.response.body;
  ASSERT_TRUE(live.until([&] { return closed.has_value(); }));
  EXPECT_NE(heard.find("access_over"), std::string::npos);
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/entry").code(), "entry_over");
  EXPECT_EQ(as(tokens["ada"], "DELETE", "/v1/jobs/1/shares/bob").code(), "not_shared");
}

TEST_F(SessionsTest, AnEntryEndsWithItsUserAndWithItsKey) {
  const std::string token = enter("ada");
  const Answer key = as(tokens["ada"], "POST", "/v1/keys", Json{{"name", "k"}, {"scope", "all"}});
  const std::string secret = key.body.at("key");
  tokens["key"] = secret;
  const std::string of_key = enter("key");
  EXPECT_EQ(as(of_key, "GET", "/v1/jobs/1/entry").status, 200);
  as(tokens["ada"], "DELETE", "/v1/keys/" + key.body.at("id").get<std::string>());
  EXPECT_EQ(as(of_key, "GET", "/v1/jobs/1/entry").code(), "entry_over");
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/entry").status, 200);
  live.call("PUT", "/v1/objects/user/ada", Json{{"disabled", true}});
  EXPECT_EQ(as(token, "GET", "/v1/jobs/1/entry").code(), "entry_over");
}

TEST_F(SessionsTest, WhatCannotBeSharedOrEnteredIsSaid) {
  const Answer unknown = share("ada", {"bbo"});
  EXPECT_EQ(unknown.code(), "no_such_user");
  EXPECT_NE(unknown.response.body.find("did you mean bob?"), std::string::npos);
  live.call("POST", "/v1/jobs", small_job_body("plain"), {}, &tokens["ada"]);
  const Json state{{"state", wire::sha256_hex(kNonce)}};
  EXPECT_EQ(as(tokens["ada"], "POST", "/v1/jobs/2/entries", state).code(), "no_app");
  EXPECT_EQ(as(tokens["ada"], "POST", "/v1/jobs/1/entries", Json::object()).code(),
            "missing_field");
  EXPECT_EQ(as(tokens["ada"], "POST", "/v1/jobs/1/entries", Json{{"state", "x"}}).status, 400);
}

TEST(SessionsUrlTest, ANeitherIsRefusedAtTheStart) {
  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies()};
  EXPECT_EQ(live.call("GET", "/v1/cluster").body.at("sessions_url"), "");
  live.call("POST", "/v1/users/ada/token?create=1");
  Json body = small_job_body("lab");
  body["app"] = {{"name", "notebook"}, {"port", 8888}};
  live.submit(body);
  const Json state{{"state", wire::sha256_hex(kNonce)}};
  EXPECT_EQ(live.call("POST", "/v1/jobs/1/entries", state).code(), "no_proxy");
}

}  // namespace
}  // namespace dove::server
