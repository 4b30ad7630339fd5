#include "proxy/api.h"

#include <gtest/gtest.h>

#include <optional>

#include "proxy/browser_sessions.h"
#include "wire/test_peer.h"

namespace dove::proxy {
namespace {

constexpr std::int64_t kMinute_us = 60'000'000;

// What the proxy makes of the server's answer to a code.
Entry traded(const std::string& answer) {
  wire::TestServer server(
      [&](const wire::Request&, const std::shared_ptr<wire::Responder>& responder) {
        responder->send({201, {{"Content-Type", "application/json"}}, answer});
      });
  wire::Loop loop;
  Api api(loop, std::make_shared<wire::Controllers>(*wire::Controllers::read(server.url(), "")));
  std::optional<Result<Entry>> entry;
  api.trade("code", "nonce", "https://j1", [&](Result<Entry> got) { entry = std::move(got); });
  EXPECT_TRUE(loop.run_until([&] { return entry.has_value(); }, std::chrono::seconds(20)));
  EXPECT_TRUE(entry->ok());
  return entry->ok() ? entry->value() : Entry();
}

std::int64_t left_us(const Entry& entry) { return entry.ends_us - wire::Loop().monotonic_us(); }

// Its machine's clock, which may be wrong by years, is not asked.
TEST(ProxyApi, AnEntryLastsByTheTimeOfTheCluster) {
  const Entry entry =
      traded(R"({"job": 1, "token": "t", "now_us": 5000000, "expires_at_us": 65000000})");
  EXPECT_EQ(entry.job, 1u);
  EXPECT_GT(left_us(entry), 0);
  EXPECT_LE(left_us(entry), kMinute_us);
}

TEST(ProxyApi, AServerOfAFormerVersionIsBelievedByThisMachinesClock) {
  const std::int64_t ends_us = wire::Loop().wall_us() + kMinute_us;
  const Entry entry =
      traded(R"({"job": 1, "token": "t", "expires_at_us": )" + std::to_string(ends_us) + "}");
  EXPECT_GT(left_us(entry), 0);
  EXPECT_LE(left_us(entry), kMinute_us);
}

TEST(BrowserSessions, EndWithTheirEntry) {
  BrowserSessions sessions;
  Entry entry;
  entry.job = 7;
  entry.ends_us = 100;
  const std::string secret = sessions.add(entry, 1, 50);
  EXPECT_NE(sessions.find({secret}, 7, 99), nullptr);
  EXPECT_EQ(sessions.find({secret}, 8, 99), nullptr);
  EXPECT_EQ(sessions.find({secret}, 7, 100), nullptr);
}

}  // namespace
}  // namespace dove::proxy
