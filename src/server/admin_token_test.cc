// The administrator's token is replaced while the server runs.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "files/text_file.h"
#include "listener/identity.h"
#include "server/api_fixture.h"
#include "telemetry/clock.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

constexpr std::int64_t kHour_us = 3'600'000'000;

std::string token_in(const std::string& directory) {
  std::string token;
  std::ifstream(directory + "/token") >> token;
  return token;
}

class AdminToken : public testing::Test {
 protected:
  Json rotate(const Json& body = Json::object()) {
    const Answer answer = live.call("POST", "/v1/admin-token", body);
    EXPECT_EQ(answer.status, 201) << answer.response.body;
    return answer.body;
  }
  std::string code(const std::string& token, const wire::Pairs& headers = {}) {
    return live.call("GET", "/v1/me", nullptr, headers, &token).code();
  }
  std::string let_in_program() {
    const std::string none;
    const Json begun = live.call("POST", "/v1/device-sign-ins", {{"name", "dove"}}, {}, &none).body;
    const std::string user_code = begun.at("user_code");
    live.call("POST", "/v1/device-sign-ins/" + user_code, {{"approve", true}});
    const Json asked{{"device_code", begun.at("device_code")}};
    return live.call("POST", "/v1/device-sign-ins/wait", asked, {}, &none).body.at("key");
  }
  std::string in_file() const { return token_in(live.directory()); }

  std::atomic<std::int64_t> now_us = telemetry::now_us();
  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies(), {.clock = [this] { return now_us.load(); }}};
  const std::string former = live.admin_token;
};

TEST_F(AdminToken, AnotherOneIsTakenAtOnceAndTheFormerLetsNobodyIn) {
  const Json made = rotate();
  const std::string token = made.at("token");
  EXPECT_NE(token, former);
  EXPECT_EQ(in_file(), token);
  EXPECT_EQ(code(former), "token_invalid");
  EXPECT_EQ(code(token), "");
  EXPECT_TRUE(made.at("former_ends_at_us").is_null());
  // It speaks for others as the former one did.
  const wire::Pairs as_ada{{"X-Dove-User", "ada"}};
  EXPECT_EQ(live.call("GET", "/v1/me", nullptr, as_ada, &token).body.at("user"), "ada");
  EXPECT_EQ(code(token, {{"X-Dove-User", "a b"}}), "bad_user");
  // And so once more.
  live.admin_token = token;
  const std::string third = rotate().at("token");
  EXPECT_EQ(code(token), "token_invalid");
  EXPECT_EQ(code(third), "");
}

TEST_F(AdminToken, TheLogSaysWhoDidItAndNothingOfTheToken) {
  const std::string token = rotate().at("token");
  live.admin_token = token;
  const std::string events = live.call("GET", "/v1/events?limit=100").response.body;
  EXPECT_NE(events.find("\"admin-token\""), std::string::npos) << events;
  EXPECT_EQ(events.find(token), std::string::npos);
  EXPECT_EQ(events.find(wire::sha256_hex(token)), std::string::npos);
}

TEST_F(AdminToken, TheFormerOneIsGoodForTheOverlap) {
  const Json made = rotate({{"overlap_s", 3600}});
  const std::string token = made.at("token");
  EXPECT_EQ(made.at("former_ends_at_us"), now_us + kHour_us);
  now_us += kHour_us - 1;
  EXPECT_EQ(code(former, {{"X-Dove-User", "ada"}}), "");
  EXPECT_EQ(code(token), "");
  now_us += 1;
  EXPECT_EQ(code(former), "token_invalid");
  EXPECT_EQ(code(token), "");
  live.admin_token = token;
  live.call("POST", "/v1/users/ada/token?create=1");
  live.call("POST", "/v1/keys",
            {{"name", "ci"}, {"user", "ada"}});  // keys that are over go with it
  EXPECT_EQ(code(former), "token_invalid");
}

TEST_F(AdminToken, AnOverlapIsEndedByRevokingTheFormerOne) {
  live.admin_token = rotate({{"overlap_s", 3600}}).at("token");
  ASSERT_EQ(code(former), "");
  const Json keys = live.call("GET", "/v1/keys?name=former-admin-token").body.at("keys");
  ASSERT_EQ(keys.size(), 1U);
  live.call("DELETE", "/v1/keys/" + keys[0].at("id").get<std::string>());
  EXPECT_EQ(code(former), "token_invalid");
}

TEST_F(AdminToken, ThePresentOneIsNotRevoked) {
  const Json made = rotate();
  live.admin_token = made.at("token");
  const std::string path = "/v1/keys/" + made.at("id").get<std::string>();
  const Answer refused = live.call("DELETE", path);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "administrators_token");
}

TEST_F(AdminToken, SessionsThatTheFormerOneBeganEndWithIt) {
  const auto sign_in = [&](const std::string& token) {
    const std::string none;
    const Answer answer = live.call("POST", "/v1/sign-in", {{"token", token}}, {}, &none);
    EXPECT_EQ(answer.status, 201) << answer.response.body;
    const std::string cookie(answer.response.header("Set-Cookie"));
    return cookie.substr(0, cookie.find(';'));
  };
  const auto asked = [&](const std::string& cookie) {
    const std::string none;
    const std::string host = "127.0.0.1:" + std::to_string(live.api->port());
    const wire::Pairs shown{{"Cookie", cookie}, {"Host", host}, {"Origin", "http://" + host}};
    return live.call("GET", "/v1/me", nullptr, shown, &none).code();
  };
  const std::string session = sign_in(former);
  ASSERT_EQ(asked(session), "");
  live.admin_token = rotate({{"overlap_s", 3600}}).at("token");
  EXPECT_EQ(asked(session), "") << "the former token is good";
  const std::string other = sign_in(live.admin_token);
  EXPECT_EQ(asked(other), "");
  live.admin_token = rotate().at("token");
  EXPECT_EQ(asked(session), "session_over");
  EXPECT_EQ(asked(other), "session_over");
}

// `dove login` that the administrator said yes to.
TEST_F(AdminToken, AProgramThatItLetInEndsAsAKey) {
  const std::string key = let_in_program();
  EXPECT_EQ(code(key), "");
  now_us += 31 * 24 * kHour_us;
  EXPECT_EQ(code(key), "key_expired");
}

TEST_F(AdminToken, AProgramThatItLetInEndsWithItUnlessTheyOverlap) {
  const std::string key = let_in_program();
  live.admin_token = rotate({{"overlap_s", 3600}}).at("token");
  EXPECT_EQ(code(key), "");
  live.admin_token = rotate().at("token");
  EXPECT_EQ(code(key), "token_invalid");
}

TEST_F(AdminToken, OnlyWhoHasItMayReplaceIt) {
  const std::string boss = live.call("POST", "/v1/users/boss/token?create=1").body.at("token");
  live.call("PUT", "/v1/objects/user/boss", {{"admin", true}});
  const Answer refused = live.call("POST", "/v1/admin-token", Json::object(), {}, &boss);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.code(), "administrators_token_needed");
  EXPECT_EQ(in_file(), former);
  EXPECT_EQ(live.call("POST", "/v1/admin-token", {{"overlap_s", 31 * 86'400}}).code(),
            "out_of_range");
}

TEST_F(AdminToken, NothingChangesWhereTheFileCannotBeWritten) {
  std::filesystem::create_directories(live.directory() + "/token.new/full");
  const Answer refused = live.call("POST", "/v1/admin-token");
  EXPECT_EQ(refused.code(), "data_dir");
  EXPECT_EQ(code(former), "");
  EXPECT_EQ(in_file(), former);
}

// Its appends wait, or fail, as a test says.
class HeldStore : public store::MemoryStore {
 public:
  void hold(bool holds) {
    {
      const std::lock_guard lock(mutex_);
      holds_ = holds;
    }
    changed_.notify_all();
  }
  void lose_answers(bool loses) {
    const std::lock_guard lock(mutex_);
    loses_answers_ = loses;
  }
  Result<void> append(Epoch epoch, Seq expected_head, const store::Batch& batch) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !holds_; });
    TRY(MemoryStore::append(epoch, expected_head, batch));
    if (!loses_answers_) return {};
    return Error{ErrorKind::kUnavailable, "commit_unknown", "nobody answers", ""};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
  bool loses_answers_ = false;
};

TEST(AdminTokenInAnUpgrade, IsNotReplacedWhileTheFormerVersionMayLead) {
  store::MemoryStore store;
  LiveApi live(store, policies::standard_policies(), {.first_level = 1});
  const Answer refused = live.call("POST", "/v1/admin-token");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "level_needed");
  EXPECT_EQ(token_in(live.directory()), live.admin_token);
  EXPECT_EQ(live.call("GET", "/v1/me").code(), "");
}

TEST(AdminTokenInDoubt, TheFormerOneIsGoodUntilTheNewOneIsCommitted) {
  for (const char* body : {"{}", R"({"overlap_s": 60})"}) {
    HeldStore store;
    LiveApi live(store, policies::standard_policies());
    store.hold(true);
    wire::AsyncClient other(live.loop, "127.0.0.1", live.api->port());
    wire::Request request;
    request.method = "POST";
    request.target = "/v1/admin-token";
    request.headers = {{"Authorization", "Bearer " + live.admin_token}};
    request.body = body;
    int status = 0;
    other.call(std::move(request), [&](const Result<wire::Response>& answer) {
      status = answer.ok() ? answer->status : -1;
    });
    ASSERT_TRUE(live.until([&] { return token_in(live.directory()) != live.admin_token; }));
    EXPECT_EQ(live.call("GET", "/v1/me").code(), "") << body;
    // But it begins nothing that would outlive it.
    EXPECT_EQ(live.call("POST", "/v1/sign-in-codes").code(), "token_replaced");
    EXPECT_EQ(status, 0);
    store.hold(false);
    ASSERT_TRUE(live.until([&] { return status != 0; }));
    EXPECT_EQ(status, 201);
    const std::string token = token_in(live.directory());
    EXPECT_EQ(live.call("GET", "/v1/me", nullptr, {}, &token).code(), "");
  }
}

TEST(AdminTokenInDoubt, TheNewOneStaysWhereNobodyKnowsWhetherItWasCommitted) {
  HeldStore store;
  std::string token;
  {
    LiveApi live(store, policies::standard_policies(), {.on_log_failure = [](const Error&) {}});
    store.lose_answers(true);
    const Answer answer = live.call("POST", "/v1/admin-token");
    EXPECT_EQ(answer.code(), "commit_unknown");
    EXPECT_NE(answer.body.value("detail", "").find(live.directory() + "/token"), std::string::npos);
    token = token_in(live.directory());
    EXPECT_NE(token, live.admin_token);
  }
  store.lose_answers(false);
  LiveApi next(store, policies::standard_policies());
  EXPECT_EQ(next.call("GET", "/v1/me", nullptr, {}, &token).code(), "") << "it was written";
}

TEST(AdminTokenInDoubt, TheFormerOneIsPutBackWhereNothingWasCommitted) {
  store::MemoryStore store;
  LiveApi live(store, policies::standard_policies());
  store.set_full(true);
  EXPECT_EQ(live.call("POST", "/v1/admin-token").code(), "disk_full");
  EXPECT_EQ(token_in(live.directory()), live.admin_token);
  EXPECT_EQ(live.call("GET", "/v1/me").code(), "");
}

TEST_F(AdminToken, AStandbyHearsOfAnotherOneFromTheLogAlone) {
  core::State state;
  const std::string data = live.directory() + "/standby";
  std::filesystem::create_directory(data);
  auto identity = listener::Identity::open(data, state);
  ASSERT_TRUE(identity.ok());
  const std::string token = identity->admin_token();
  wire::Request request;
  request.headers = {{"Authorization", "Bearer " + token}};
  const auto folded = [&](const Key& key) {
    KeyIssued issued{wire::sha256_hex(key.name), key};
    state.keys[issued.sha256] = key;
    return identity->committed({{issued, {}}});
  };
  Key session;
  session.user = "ada";
  session.name = "browser";
  session.kind = KeyKind::kSession;
  EXPECT_FALSE(folded(session));
  EXPECT_TRUE(identity->person(request, state, Instant{now_us}).ok());
  EXPECT_FALSE(identity->is_outdated(state, Instant{now_us}));
  Key made;
  made.name = "admin-token";
  made.expires_at = kNever;
  made.is_administrators = true;
  EXPECT_TRUE(folded(made));
  EXPECT_FALSE(identity->person(request, state, Instant{now_us}).ok());
  EXPECT_TRUE(identity->is_outdated(state, Instant{now_us}));
  // The controller that makes one writes its file before the record.
  ASSERT_TRUE(identity->write_admin_token("admin-token").ok());
  EXPECT_FALSE(identity->is_outdated(state, Instant{now_us}));
}

TEST_F(AdminToken, AFileWithAFormerOneIsNamed) {
  // As on a machine of another controller than the one that was asked.
  const std::string digests = files::text_or_empty(live.directory() + "/keys.sha256", 4096);
  rotate();
  std::ofstream(live.directory() + "/token") << former << "\n";
  std::ofstream(live.directory() + "/keys.sha256") << digests;
  live.controller.stop();
  const core::State& state = live.controller.state();
  auto identity = listener::Identity::open(live.directory(), state);
  ASSERT_TRUE(identity.ok());
  EXPECT_TRUE(identity->is_outdated(state, Instant{now_us}));
  wire::Request request;
  request.headers = {{"Authorization", "Bearer " + former}};
  const auto caller = identity->person(request, state, Instant{now_us});
  ASSERT_FALSE(caller.ok());
  EXPECT_NE(caller.error().message.find(live.directory() + "/token"), std::string::npos);
  // Without it no token is made that nobody knows.
  std::filesystem::remove(live.directory() + "/token");
  identity = listener::Identity::open(live.directory(), state);
  ASSERT_TRUE(identity.ok());
  EXPECT_FALSE(identity->is_outdated(state, Instant{now_us}));
  EXPECT_FALSE(std::filesystem::exists(live.directory() + "/token"));
  EXPECT_FALSE(identity->signing_in("", state, Instant{now_us}).ok());
}

}  // namespace
}  // namespace dove::server
