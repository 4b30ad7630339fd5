// What people choose to hear of: who may choose, what is refused, and what is shown of it.
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

const char kUrl[] = "https://hooks.example.org/services/SECRET";

Json target(const std::string& to, const std::string& by = "webhook") {
  return Json{{"by", by}, {"to", to}, {"about", {"job_ended"}}};
}
// Not in braces: compilers differ in whether one pair in them is an object or an array.
Json list(Json targets) { return Json::object({{"targets", std::move(targets)}}); }

class NoticesApi : public WithApi {
 protected:
  std::string user(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  Answer put(const std::string& token, const Json& body, const std::string& name = "ada") {
    return live.call("PUT", "/v1/users/" + name + "/notices", body, {}, &token);
  }
  Answer get(const std::string& token, const std::string& target) {
    return live.call("GET", target, nullptr, {}, &token);
  }
};

TEST_F(NoticesApi, OneChoosesForOneself) {
  const std::string ada = user("ada");
  const Answer none = get(ada, "/v1/users/ada/notices");
  EXPECT_EQ(
      none.body,
      (Json{{"user", "ada"}, {"mail", false}, {"webhooks", true}, {"targets", Json::array()}}));
  const Answer made = put(ada, list({target(kUrl)}));
  ASSERT_EQ(made.status, 200) << made.response.body;
  const Json& one = made.body.at("targets").at(0);
  EXPECT_EQ(one.at("about"), Json({"job_ended"}));
  EXPECT_EQ(one.at("waiting"), 0);
  EXPECT_EQ(put(ada, list({target(kUrl)})).body, made.body);
  EXPECT_EQ(put(ada, list(Json::array())).body.at("targets"), Json::array());
}

TEST_F(NoticesApi, OthersMayNotAndAdministratorsMay) {
  const std::string ada = user("ada");
  const std::string bob = user("bob");
  EXPECT_EQ(get(bob, "/v1/users/ada/notices").status, 404);
  EXPECT_EQ(put(bob, list({target(kUrl)})).status, 404);
  EXPECT_EQ(live.call("POST", "/v1/users/ada/notices/1/test", nullptr, {}, &bob).status, 404);
  EXPECT_EQ(put(live.admin_token, list({target(kUrl)})).status, 200);
  EXPECT_EQ(get(ada, "/v1/users/ada/notices").body.at("targets").size(), 1u);
  EXPECT_EQ(put(live.admin_token, list({target(kUrl)}), "nobody").code(), "no_such_user");
  EXPECT_EQ(live.call("POST", "/v1/users/ada/notices/2/test", nullptr, {}, &ada).code(),
            "no_such_target");
  EXPECT_EQ(live.call("POST", "/v1/users/ada/notices/x/test", nullptr, {}, &ada).status, 404);
}

TEST_F(NoticesApi, WhatIsWrongIsNamed) {
  const std::string ada = user("ada");
  for (const auto& [body, code] : std::vector<std::pair<Json, std::string>>{
           {list({target("ada@example.org", "mail")}), "no_mail"},
           {list({target("http://hooks.example.org/x")}), "https_only"},
           {list({target("https://127.0.0.1/x")}), "address_refused"},
           {list({target("https://hooks.example.org/***00000000")}), "unknown_target"},
           {list({Json{{"by", "pigeon"}, {"to", "x"}}}), "bad_value"},
           {list({Json{{"by", "webhook"}, {"to", kUrl}}}), "nothing_chosen"},
           {list({Json{{"by", "webhook"}, {"to", kUrl}, {"about", {"gossip"}}}}), "bad_value"},
           {list({Json{{"by", "webhook"}, {"to", kUrl}, {"about", {"node_sick"}}}}),
            "not_an_administrator"},
           {Json{{"targets", 7}}, "missing_field"},
           {Json::object(), "missing_field"}}) {
    const Answer answer = put(ada, body);
    EXPECT_EQ(answer.status, 400) << answer.response.body;
    EXPECT_EQ(answer.code(), code) << answer.response.body;
  }
}

TEST_F(NoticesApi, AUrlIsShownByItsHostEverywhere) {
  const std::string ada = user("ada");
  const std::string masked =
      put(ada, list({target(kUrl)})).body.at("targets").at(0).at("to").get<std::string>();
  EXPECT_TRUE(masked.starts_with("https://hooks.example.org/***")) << masked;
  for (const std::string& path :
       {std::string("/v1/users/ada/notices"), std::string("/v1/objects/user/ada"),
        std::string("/v1/objects?kind=user"), std::string("/v1/events?limit=1000")}) {
    const Answer answer = get(live.admin_token, path);
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.response.body.find("hooks.example.org"), std::string::npos) << path;
    EXPECT_EQ(answer.response.body.find("SECRET"), std::string::npos) << path;
  }
  // What is sent back as it was shown stays what it was: by both ways.
  ASSERT_EQ(put(ada, list({target(masked), target("https://other.example.org/x")})).status, 200);
  const Json object = get(live.admin_token, "/v1/objects/user/ada").body;
  const Answer applied = live.call("PUT", "/v1/objects/user/ada", object);
  ASSERT_EQ(applied.status, 200) << applied.response.body;
  EXPECT_EQ(applied.body.at("change"), "none");
  const Answer all = live.call("POST", "/v1/objects", Json{{"objects", {object}}});
  ASSERT_EQ(all.status, 200) << all.response.body;
  EXPECT_EQ(all.body.at("changes").at(0).at("change"), "none");
  EXPECT_EQ(all.response.body.find("SECRET"), std::string::npos);
}

TEST_F(NoticesApi, ADeclaredUserIsCheckedToo) {
  user("ada");
  const Json declared{{"notices", {target("https://10.0.0.1/x")}}};
  EXPECT_EQ(live.call("PUT", "/v1/objects/user/ada", declared).code(), "address_refused");
  Json object = declared;
  object.update(Json{{"kind", "User"}, {"name", "bob"}});
  const Answer all = live.call("POST", "/v1/objects", Json{{"objects", {object}}});
  EXPECT_EQ(all.status, 400) << all.response.body;
  EXPECT_EQ(live.call("GET", "/v1/objects/user/bob").status, 404);
}

}  // namespace
}  // namespace dove::server
