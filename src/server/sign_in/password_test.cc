// Passwords that only the server knows: who sets whose, what they let in, what is shown of them.
#include <fmt/format.h>

#include <atomic>
#include <set>

#include "passwords/hash.h"
#include "passwords/kept.h"
#include "server/api_fixture.h"

namespace dove::server {
namespace {

const std::string kNoToken;
const std::string kFirst = "given by somebody";
const std::string kOwn = "known to ada alone";
constexpr char kAda[] = "/v1/users/ada/password";

class LocalPasswords : public testing::Test {
 protected:
  void SetUp() override { ada = user_token("ada"); }

  std::string user_token(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  // Ten, then one a second: tests try no more.
  Answer sign_in(const std::string& user, const std::string& password,
                 const std::string& wanted = "") {
    Json body{{"user", user}, {"password", password}};
    if (!wanted.empty()) body["new_password"] = wanted;
    return live.call("POST", "/v1/sign-in", body, {}, &kNoToken);
  }
  Answer give(const std::string& password, const char* target = kAda) {
    return live.call("PUT", target, Json{{"password", password}});
  }
  Answer change(const std::string& former, const std::string& password, const std::string& token) {
    return live.call("PUT", kAda, Json{{"former", former}, {"password", password}}, {}, &token);
  }
  std::string cookie(const Answer& signed_in) {
    EXPECT_EQ(signed_in.status, 201) << signed_in.response.body;
    const std::string text(signed_in.response.header("Set-Cookie"));
    return text.substr(0, text.find(';'));
  }
  Answer browse(const std::string& method, const std::string& target, const std::string& cookie,
                const Json& body = nullptr) {
    const std::string host = "127.0.0.1:" + std::to_string(live.api->port());
    return live.call(method, target, body,
                     {{"Cookie", cookie}, {"Origin", "http://" + host}, {"Host", host}}, &kNoToken);
  }
  // As the log says it, whoever wrote it there.
  void declare(UserDeclaration user) {
    controller::Input input;
    input.events.push_back({ObjectApplied{Declared(std::move(user))}, {}});
    std::atomic<bool> is_done = false;
    live.controller.submit(std::move(input), [&](const auto& committed) {
      CHECK(committed.ok(), "the user is declared");
      is_done = true;
    });
    CHECK(live.until([&] { return is_done.load(); }), "the user is declared in time");
  }

  // The last one that the log holds.
  std::string kept_of_ada() {
    std::string kept;
    const auto look = [&](const store::Batch& batch) {
      for (const StampedEvent& event : batch.events) {
        const auto* applied = std::get_if<ObjectApplied>(&event.event);
        if (applied == nullptr) continue;
        const auto* user = std::get_if<UserDeclaration>(&applied->object);
        if (user != nullptr && user->name == "ada") kept = user->password_hash;
      }
      return true;
    };
    CHECK(store.read(Seq{}, look).ok(), "the log can be read");
    return kept;
  }

  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies(), {.local_passwords = true}};
  std::string ada;
};

TEST_F(LocalPasswords, TheFirstIsGivenAndGoodForChoosingAnother) {
  const Answer ways = live.call("GET", "/v1/sign-in", nullptr, {}, &kNoToken);
  EXPECT_EQ(ways.body, (Json{{"ways", Json::array()},
                             {"passwords", true},
                             {"local_passwords", true},
                             {"site_passwords", false}}));
  const Answer given = give(kFirst);
  EXPECT_EQ(given.status, 200) << given.response.body;
  EXPECT_TRUE(given.body.contains("once_until_us"));
  EXPECT_EQ(given.body.at("sessions_ended"), 0);
  const Answer first = sign_in("ada", kFirst);
  EXPECT_EQ(first.status, 403);
  EXPECT_EQ(first.code(), "new_password_needed");
  EXPECT_EQ(first.response.header("Set-Cookie"), "");
  EXPECT_EQ(sign_in("ada", kFirst, "short").code(), "password_too_short");
  EXPECT_EQ(sign_in("ada", kFirst, kFirst).code(), "password_same");
  EXPECT_EQ(sign_in("ada", "some other one", kOwn).code(), "wrong_password");
  const Answer in = sign_in("ada", kFirst, kOwn);
  EXPECT_EQ(in.body.at("user"), "ada");
  EXPECT_EQ(browse("GET", "/v1/me", cookie(in)).body.at("user"), "ada");
  const Answer again = sign_in("ada", kFirst);
  EXPECT_EQ(again.status, 401);
  EXPECT_EQ(again.code(), "wrong_password");
  EXPECT_EQ(sign_in("ada", kOwn).status, 201);
}

TEST_F(LocalPasswords, OnesOwnChangeTakesTheFormerOneAndEndsOtherSessions) {
  EXPECT_EQ(change("anything at all", kOwn, ada).code(), "no_password_yet");
  give(kFirst);
  const std::string here = cookie(sign_in("ada", kFirst, kOwn));
  const std::string elsewhere = cookie(sign_in("ada", kOwn));
  const std::string next = "another one of hers";
  EXPECT_EQ(change("", next, ada).code(), "missing_field");
  const Answer wrong = change("guessed by chance", next, ada);
  EXPECT_EQ(wrong.status, 403) << "she is not signed out";
  EXPECT_EQ(wrong.code(), "wrong_password");
  EXPECT_EQ(change(kOwn, "ada", ada).code(), "password_is_name");
  const Answer set = browse("PUT", kAda, here, Json{{"former", kOwn}, {"password", next}});
  EXPECT_EQ(set.body, (Json{{"user", "ada"}, {"sessions_ended", 1}}));
  EXPECT_EQ(browse("GET", "/v1/me", here).status, 200);
  EXPECT_EQ(browse("GET", "/v1/me", elsewhere).code(), "session_over");
  EXPECT_EQ(live.call("GET", "/v1/me", nullptr, {}, &ada).status, 200) << "her token stays";
  // What an administrator sets ends nothing.
  EXPECT_EQ(give("given once more").body.at("sessions_ended"), 0);
  EXPECT_EQ(browse("GET", "/v1/me", here).status, 200);
}

TEST_F(LocalPasswords, OnlyAdministratorsSetAndRemoveThoseOfOthers) {
  const std::string bob = user_token("bob");
  const Answer others = live.call("PUT", kAda, Json{{"password", kFirst}}, {}, &bob);
  EXPECT_EQ(others.code(), "admin_only");
  EXPECT_EQ(live.call("DELETE", kAda, nullptr, {}, &ada).code(), "admin_only");
  EXPECT_EQ(live.call("DELETE", kAda).code(), "no_password");
  give(kFirst);
  EXPECT_EQ(sign_in("ada", kFirst, kOwn).status, 201);
  EXPECT_EQ(live.call("DELETE", kAda).status, 204);
  EXPECT_EQ(sign_in("ada", kOwn).code(), "wrong_password");
  EXPECT_EQ(give(kFirst, "/v1/users/nobody/password").code(), "no_such_user");
  live.call("PUT", "/v1/objects/project/vision", Json::object());
  live.call("PUT", "/v1/objects/user/robot", Json{{"service_of", "vision"}});
  EXPECT_EQ(give(kFirst, "/v1/users/robot/password").code(), "no_person");
}

TEST_F(LocalPasswords, WhoIsNotThereIsRefusedInTheSameWords) {
  give(kFirst);
  user_token("bob");  // who has none
  const Answer wrong = sign_in("ada", "guessed by chance");
  EXPECT_EQ(wrong.status, 401);
  for (const char* user : {"bob", "nobody", "admin"}) {
    const Answer other = sign_in(user, "guessed by chance");
    EXPECT_EQ(other.status, wrong.status);
    EXPECT_EQ(other.body, wrong.body);
  }
}

TEST_F(LocalPasswords, WhoIsDisabledStaysOutAndAnOldOneTimePasswordIsOver) {
  UserDeclaration user;
  user.name = "ada";
  user.password_hash = passwords::hash(kOwn, {64, 1}).value();
  user.disabled = true;
  declare(user);
  EXPECT_EQ(sign_in("ada", kOwn).code(), "user_disabled");
  EXPECT_EQ(sign_in("ada", "guessed by chance").code(), "wrong_password");
  user.disabled = false;
  user.password_hash = passwords::text_of({user.password_hash, Instant{} + seconds(1)});
  declare(user);
  EXPECT_EQ(sign_in("ada", kOwn, kFirst).code(), "password_over");
}

TEST_F(LocalPasswords, AHashOfFormerCostsIsMadeAnewAtSignIn) {
  UserDeclaration user;
  user.name = "ada";
  user.password_hash = passwords::hash(kOwn, {64, 1}).value();
  declare(user);
  const auto kept = [&] { return kept_of_ada(); };
  EXPECT_EQ(sign_in("ada", "guessed by chance").code(), "wrong_password");
  EXPECT_EQ(kept(), user.password_hash);
  const std::string here = cookie(sign_in("ada", kOwn));
  const std::string renewed = kept();
  EXPECT_TRUE(passwords::is_weaker(user.password_hash));
  EXPECT_FALSE(passwords::is_weaker(renewed)) << renewed;
  EXPECT_TRUE(passwords::matches(renewed, kOwn).value());
  EXPECT_EQ(sign_in("ada", kOwn).status, 201);
  EXPECT_EQ(kept(), renewed) << "once";
  EXPECT_EQ(browse("GET", "/v1/me", here).status, 200) << "no session ends by it";
  // One that is good once is not made into one that lasts.
  const Instant later = Instant{} + seconds(4'000'000'000);
  user.password_hash = passwords::text_of({passwords::hash(kFirst, {64, 1}).value(), later});
  declare(user);
  EXPECT_EQ(sign_in("ada", kFirst).code(), "new_password_needed");
  EXPECT_EQ(kept(), user.password_hash);
}

TEST_F(LocalPasswords, NoAnswerHoldsAPasswordOrItsHash) {
  give(kFirst);
  sign_in("ada", kFirst, kOwn);
  const Answer shown = live.call("GET", "/v1/objects/user/ada");
  EXPECT_EQ(shown.body.at("has_password"), true);
  Json as_shown = shown.body;
  as_shown["linux_user"] = "ada";
  const Answer applied = live.call("PUT", "/v1/objects/user/ada", as_shown);
  EXPECT_EQ(applied.body.at("change"), "update") << "what is shown can be applied";
  EXPECT_EQ(sign_in("ada", kOwn).status, 201) << "and the password stays";
  const Answer log = live.call("GET", "/v1/events?audit=1&after=0");
  EXPECT_NE(log.response.body.find("KeyIssued"), std::string::npos) << log.response.body;
  for (const Answer& answer : {shown, applied, log, live.call("GET", "/v1/objects?kind=user")}) {
    for (const std::string& secret : {std::string("argon2"), kFirst, kOwn}) {
      EXPECT_EQ(answer.response.body.find(secret), std::string::npos) << answer.response.body;
    }
  }
  for (const Json& hash : {Json("$argon2id$v=19$m=8,t=1,p=1$YWFhYWFhYWE$AAAA"), Json("")}) {
    const Answer declared = live.call("PUT", "/v1/objects/user/ada", Json{{"password_hash", hash}});
    EXPECT_EQ(declared.code(), "not_declared") << hash;
  }
}

TEST_F(LocalPasswords, AnAddressHasFewTries) {
  UserDeclaration user;
  user.name = "ada";
  user.password_hash = passwords::hash(kOwn, {8, 1}).value();  // so that no second passes meanwhile
  declare(user);
  std::multiset<std::string> codes;
  for (int i = 0; i < 40; ++i) codes.insert(sign_in("ada", "guessed by chance").code());
  EXPECT_GE(codes.count("wrong_password"), 10u);
  EXPECT_GE(codes.count("rate_limited"), 20u);
}

TEST(NoLocalPasswords, AreRefusedWhereNobodyHasAskedForThem) {
  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies()};
  live.call("POST", "/v1/users/ada/token?create=1");
  EXPECT_EQ(live.call("PUT", kAda, Json{{"password", kFirst}}).code(), "no_local_passwords");
  EXPECT_EQ(live.call("GET", "/v1/sign-in").body.at("passwords"), false);
  const Json shown{{"user", "ada"}, {"password", kFirst}};
  EXPECT_EQ(live.call("POST", "/v1/sign-in", shown, {}, &kNoToken).code(), "no_passwords");
}

}  // namespace
}  // namespace dove::server
