#include "server/sessions/entry_codes.h"

#include <gtest/gtest.h>

#include "wire/secret.h"

namespace dove::server {
namespace {

constexpr char kOrigin[] = "https://j42.apps.example.org";

class EntryCodesTest : public testing::Test {
 protected:
  std::string issue(const std::string& user = "ada") {
    const auto code = codes.issue({JobId(42), user, "", false, Instant{1}}, kOrigin,
                                  wire::sha256_hex("nonce"), 0);
    return code.ok() ? *code : code.error().code;
  }
  bool trade(const std::string& code, const std::string& origin, const std::string& nonce,
             std::int64_t now_us = 1) {
    return codes.trade(code, origin, nonce, now_us).has_value();
  }
  EntryCodes codes;
};

TEST_F(EntryCodesTest, ACodeIsGoodOnce) {
  const std::string code = issue();
  const auto entry = codes.trade(code, kOrigin, "nonce", 1);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->job, JobId(42));
  EXPECT_EQ(entry->user, "ada");
  EXPECT_FALSE(trade(code, kOrigin, "nonce"));
}

TEST_F(EntryCodesTest, OnlyForTheBrowserAndTheOriginThatAsked) {
  const std::string injected = issue();
  EXPECT_FALSE(trade(injected, kOrigin, "another browser's"));
  EXPECT_FALSE(trade(injected, kOrigin, "nonce")) << "whoever guesses has one try";
  EXPECT_FALSE(trade(issue(), "https://j43.apps.example.org", "nonce"));
  EXPECT_FALSE(trade("guessed", kOrigin, "nonce"));
}

TEST_F(EntryCodesTest, WithinAMinute) {
  EXPECT_FALSE(trade(issue(), kOrigin, "nonce", EntryCodes::kLasts_us));
  EXPECT_TRUE(trade(issue(), kOrigin, "nonce", EntryCodes::kLasts_us - 1));
}

TEST_F(EntryCodesTest, OnePersonCannotHaveThemAll) {
  for (std::size_t i = 0; i < EntryCodes::kMostOfUser; ++i) issue();
  EXPECT_EQ(issue(), "rate_limited");
  EXPECT_NE(issue("bob"), "rate_limited");
}

}  // namespace
}  // namespace dove::server
