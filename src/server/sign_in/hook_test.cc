// Signing in where the site has a hook: what comes of each of its answers.
#include <atomic>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

const std::string kNoToken;

class WithHook : public testing::Test {
 protected:
  // Called in a side thread.
  static Result<hook::Person> answer(const hook::Question& question) {
    if (question.password == "open sesame") return hook::Person{question.user, "", "", {{"ml"}}};
    if (question.password == "no name") return hook::Person{"no name", "", "", std::nullopt};
    if (question.password == "it breaks") {
      return Error{ErrorKind::kUnavailable, "hook_failed", "for the log alone", ""};
    }
    return Error{ErrorKind::kUnauthenticated, "refused", "for the log alone", ""};
  }
  Answer sign_in(const std::string& user, const std::string& password,
                 const std::string& wanted = "") {
    Json body{{"user", user}, {"password", password}};
    if (!wanted.empty()) body["new_password"] = wanted;
    return live.call("POST", "/v1/sign-in", body, {}, &kNoToken);
  }

  std::atomic<int> asked = 0;
  store::MemoryStore store;
  LiveApi live{store,
               policies::standard_policies(),
               {.local_passwords = true, .ask_hook = [this](const hook::Question& question) {
                  ++asked;
                  return answer(question);
                }}};
};

TEST_F(WithHook, OpensASessionForWhomItLetsIn) {
  const Answer ways = live.call("GET", "/v1/sign-in", nullptr, {}, &kNoToken);
  EXPECT_EQ(ways.body.at("passwords"), true);
  EXPECT_EQ(ways.body.at("site_passwords"), true);
  const Answer in = sign_in("ada", "open sesame");
  EXPECT_EQ(in.status, 201) << in.response.body;
  EXPECT_EQ(in.body.at("user"), "ada");
  EXPECT_NE(in.response.header("Set-Cookie"), "");
  EXPECT_EQ(live.call("GET", "/v1/objects/group/hook.ml").body.at("users"), Json::array({"ada"}));
  EXPECT_EQ(sign_in("ada", "open sesame").status, 201);
}

TEST_F(WithHook, RefusesInTheWordsOfAWrongPassword) {
  const Answer refused = sign_in("ada", "guessed by chance");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.code(), "wrong_password");
  EXPECT_EQ(refused.response.body.find("for the log"), std::string::npos);
  EXPECT_EQ(sign_in("admin", "open sesame").code(), "bad_account");
  live.call("PUT", "/v1/objects/user/mallory", Json{{"disabled", true}});
  EXPECT_EQ(sign_in("mallory", "open sesame").code(), "user_disabled");
  EXPECT_EQ(sign_in("ada", "open sesame", "another one of hers").code(), "not_a_local_password");
  EXPECT_EQ(sign_in("ada", "guessed", "another one of hers").code(), "wrong_password");
}

TEST_F(WithHook, SaysThatItHasFailed) {
  for (const char* password : {"it breaks", "no name"}) {
    const Answer failed = sign_in("ada", password);
    EXPECT_EQ(failed.status, 503);
    EXPECT_EQ(failed.code(), "hook_failed");
    EXPECT_EQ(failed.response.body.find("for the log"), std::string::npos);
    EXPECT_EQ(failed.response.header("Set-Cookie"), "");
  }
  // Refusals are counted for a while before they are written down.
  std::string audit;
  for (int looks = 0; looks < 200 && audit.find("hook_failed") == std::string::npos; ++looks) {
    live.loop.run_until([] { return false; }, std::chrono::milliseconds(100));
    audit = live.call("GET", "/v1/events?audit=1&after=0").response.body;
  }
  EXPECT_NE(audit.find("hook_failed"), std::string::npos) << audit;
  EXPECT_EQ(audit.find("for the log"), std::string::npos);
}

TEST_F(WithHook, IsNotShownThePasswordOfWhoHasOneHere) {
  live.call("POST", "/v1/users/ada/token?create=1");
  live.call("PUT", "/v1/users/ada/password", Json{{"password", "only known here"}});
  EXPECT_EQ(sign_in("ada", "open sesame").code(), "wrong_password");
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(sign_in("bob", "open sesame").status, 201);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace dove::server
