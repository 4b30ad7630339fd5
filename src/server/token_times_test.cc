// What callers are given lasts, and is judged, by the cluster's time: the machine's clock, which is
// far from it here, has no say.
#include <gtest/gtest.h>

#include <atomic>

#include "server/api_fixture.h"
#include "telemetry/clock.h"

namespace dove::server {
namespace {

constexpr std::int64_t kHour_us = 3'600'000'000;

class TokenTimes : public testing::TestWithParam<int> {
 protected:
  std::int64_t now_us() const { return now_us_.load(); }
  void pass(std::int64_t us) { now_us_ += us; }
  std::string user_token(const Json& body = nullptr) {
    return live.call("POST", "/v1/users/ada/token?create=1", body).body.at("token");
  }
  int asked_with(const std::string& token) {
    return live.call("GET", "/v1/jobs", nullptr, {}, &token).status;
  }

  // How far the cluster's time is ahead of the machine's clock.
  std::atomic<std::int64_t> now_us_ = telemetry::now_us() + GetParam() * 24 * kHour_us;
  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies(), {.clock = [this] { return now_us(); }}};
};

INSTANTIATE_TEST_SUITE_P(Days, TokenTimes, testing::Values(-1, 1));

TEST_P(TokenTimes, AJoinTokenIsGoodForItsHour) {
  const auto join_with = [this](const std::string& name, const std::string& token) {
    FakeAgent agent(live, name);
    return live.call("POST", "/v1/agents/join", agent.greeting(), {}, &token).status;
  };
  const Json first = live.call("POST", "/v1/join-tokens", Json{{"ttl_s", 3600}}).body;
  const Json second = live.call("POST", "/v1/join-tokens", Json{{"ttl_s", 3600}}).body;
  EXPECT_EQ(first.at("expires_at_us"), now_us() + kHour_us);
  pass(kHour_us - 1);
  EXPECT_EQ(join_with("n1", first.at("token")), 201);
  pass(1);
  EXPECT_EQ(join_with("n2", second.at("token")), 401) << "although nothing has been logged since";
}

TEST_P(TokenTimes, ATokenOfUpIsGoodForItsHour) {
  std::string token;
  live.api->issue_join_token("n1", Span{kHour_us}, [&](const Result<std::string>& made) {
    if (made.ok()) token = *made;
  });
  ASSERT_TRUE(live.until([&] { return !token.empty(); }));
  FakeAgent agent(live, "n1");
  EXPECT_EQ(live.call("POST", "/v1/agents/join", agent.greeting(), {}, &token).status, 201);
}

TEST_P(TokenTimes, AUsersTokenIsGoodForItsHour) {
  const std::string token = user_token({{"ttl_s", 3600}});
  pass(kHour_us - 1);
  EXPECT_EQ(asked_with(token), 200);
  pass(1);
  EXPECT_EQ(asked_with(token), 401);
}

TEST_P(TokenTimes, AKeyIsGoodForItsHour) {
  const std::string ada = user_token();
  const auto issue = [&](const char* name) {
    return live.call("POST", "/v1/keys", Json{{"name", name}, {"ttl_s", 3600}}, {}, &ada).body;
  };
  const std::string key = issue("first").at("key");
  pass(kHour_us - 1);
  issue("second");  // keys that have ended are dropped with it
  EXPECT_EQ(asked_with(key), 200);
  pass(1);
  EXPECT_EQ(asked_with(key), 401);
}

}  // namespace
}  // namespace dove::server
