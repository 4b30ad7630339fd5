#include "notices/outbox.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::notices {
namespace {

using Ending = Attempted::Ending;

constexpr Instant kBegin{1'000'000'000'000};

Attempted failed(bool hosts = false) {
  return {Ending::kRetry, hosts, Error{ErrorKind::kUnavailable, "http_500", "h answered 500", ""}};
}

class OutboxTest : public testing::Test {
 protected:
  Letter letter(const std::string& id, const std::string& lane = "mail",
                const std::string& user = "ann") const {
    Letter out;
    out.id = id;
    out.lane = lane;
    out.target.by = lane == "mail" ? NoticeBy::kMail : NoticeBy::kWebhook;
    out.target.to = lane == "mail" ? "ann@example.org" : "https://" + lane + "/x";
    out.target_id = "t-" + lane;
    out.notice.user = user;
    out.made = out.next = now;
    return out;
  }
  Outbox::Added add(Letter one) { return box.add(std::move(one), now); }
  std::string take(bool by_mail = true) {
    const auto taken = box.take(by_mail, now);
    return taken.has_value() ? taken->id : "";
  }

  Instant now = kBegin;
  Outbox box{OutboxLimits{.per_hour = 5, .waiting_max = 20, .waiting_of_user_max = 10}, 7};
};

TEST_F(OutboxTest, ANoticeIsTriedOnceAtATimeAndGoesOnceDelivered) {
  EXPECT_EQ(add(letter("a")), Outbox::Added::kYes);
  EXPECT_EQ(add(letter("a")), Outbox::Added::kDouble);
  EXPECT_EQ(take(), "a");
  EXPECT_EQ(take(), "");
  EXPECT_EQ(box.settle("a", {}, now), Outbox::Settled::kDelivered);
  EXPECT_EQ(box.waiting(), 0u);
  EXPECT_EQ(add(letter("a")), Outbox::Added::kDouble);
  EXPECT_EQ(box.standing("t-mail")->delivered, 1);
  EXPECT_EQ(box.settle("a", {}, now), Outbox::Settled::kUnknown);
}

TEST_F(OutboxTest, TriesBecomeRarerAndEndAfterADay) {
  add(letter("a", "hook"));
  std::vector<std::int64_t> waits_s;
  Outbox::Settled settled = Outbox::Settled::kRetried;
  while (settled == Outbox::Settled::kRetried) {
    ASSERT_EQ(take(false), "a");
    settled = box.settle("a", failed(), now);
    if (box.waiting() == 0) break;
    waits_s.push_back((box.next_due() - now).us / 1'000'000);
    now = Instant{box.next_due().us - 1};
    EXPECT_EQ(take(false), "");
    now = now + Span{1};
  }
  EXPECT_EQ(settled, Outbox::Settled::kGivenUp);
  EXPECT_GE((now - kBegin).us, seconds(24 * 3600).us);
  EXPECT_LT((now - kBegin).us, seconds(26 * 3600).us);
  ASSERT_GT(waits_s.size(), 25u);
  ASSERT_LT(waits_s.size(), 45u);
  for (std::size_t i = 0; i < waits_s.size(); ++i) {
    const std::int64_t usual = std::min<std::int64_t>(10LL << std::min<std::size_t>(i, 20), 3600);
    EXPECT_GE(waits_s[i], usual * 3 / 4 - 1) << i;
    EXPECT_LE(waits_s[i], usual * 5 / 4 + 1) << i;
  }
  EXPECT_EQ(box.standing("t-hook")->error, "http_500: h answered 500");
}

TEST_F(OutboxTest, WhatIsRefusedForGoodIsNotTriedAgain) {
  add(letter("a"));
  take();
  EXPECT_EQ(box.settle("a", {Ending::kRefused, false, {}}, now), Outbox::Settled::kRefused);
  EXPECT_EQ(box.waiting(), 0u);
}

TEST_F(OutboxTest, AHostThatHangsHoldsUpItselfAlone) {
  add(letter("a", "slow", "ann"));
  add(letter("b", "slow", "bob"));
  add(letter("c", "fast", "bob"));
  add(letter("m", "mail", "bob"));
  const std::string first = take(false);
  const std::string second = take(false);
  EXPECT_EQ((std::set<std::string>{first, second}), (std::set<std::string>{"a", "c"}));
  EXPECT_EQ(take(false), "") << "one thread for a host";
  EXPECT_EQ(take(true), "m");
  box.settle("c", {}, now);
  box.settle("a", failed(true), now);
  EXPECT_EQ(take(false), "") << "the host is left alone, and b with it";
  EXPECT_GT(box.next_due(), now);
  now = box.next_due();
  EXPECT_EQ(take(false), "b");
  box.settle("b", {}, now);
  now = now + seconds(20);
  EXPECT_EQ(take(false), "a");
}

TEST_F(OutboxTest, OnePersonHasNoMoreThanTwoThreads) {
  for (const char* host : {"h1", "h2", "h3"}) add(letter(host, host));
  EXPECT_NE(take(false), "");
  EXPECT_NE(take(false), "");
  EXPECT_EQ(take(false), "");
  add(letter("other", "h4", "bob"));
  EXPECT_EQ(take(false), "other");
}

TEST_F(OutboxTest, TooManyInAnHourAreCountedAndNotSent) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(add(letter(std::to_string(i))), Outbox::Added::kYes);
  EXPECT_EQ(add(letter("5")), Outbox::Added::kSuppressed);
  EXPECT_EQ(add(letter("6", "mail", "bob")), Outbox::Added::kYes);
  EXPECT_EQ(box.standing("t-mail")->suppressed, 1);
  now = now + seconds(3600);
  EXPECT_EQ(add(letter("7")), Outbox::Added::kYes);
}

TEST_F(OutboxTest, TheOutboxIsBounded) {
  int kept = 0;
  for (int user = 0; user < 10; ++user) {
    for (int i = 0; i < 5; ++i) {
      const std::string id = std::to_string(user * 10 + i);
      kept += add(letter(id, "mail", "u" + std::to_string(user))) == Outbox::Added::kYes;
    }
  }
  EXPECT_EQ(kept, 20);
}

TEST_F(OutboxTest, ARestartKeepsWhatWaitsAndWhatIsKnownOfTargets) {
  add(letter("a", "hook"));
  add(letter("b"));
  add(letter("gone", "left"));
  take(false);
  box.settle("a", failed(), now);
  take();  // b is under way when the server ends
  const nlohmann::json kept = box.keep();
  Outbox again(OutboxLimits{}, 1);
  now = now + seconds(60);
  again.restore(
      nlohmann::json::parse(kept.dump()),
      [&](const std::string& user, const std::string& id) -> std::optional<NoticeTarget> {
        EXPECT_EQ(user, "ann");
        if (id == "t-left") return std::nullopt;
        return letter("", id == "t-mail" ? "mail" : "hook").target;
      },
      now, kBegin);
  EXPECT_EQ(again.waiting(), 2u);
  EXPECT_EQ(again.standing("t-hook")->error, "http_500: h answered 500");
  EXPECT_EQ(again.oldest(), kBegin);
  EXPECT_EQ(again.add(letter("b"), now), Outbox::Added::kDouble);
  EXPECT_EQ(again.take(true, now)->id, "b");
  EXPECT_EQ(again.take(false, now)->tries, 2);
  again.forget_targets_but({"t-mail"});
  EXPECT_EQ(again.standing("t-hook"), nullptr);
}

TEST_F(OutboxTest, WhatIsTooOldIsNotToldAfterARestart) {
  add(letter("old"));
  const nlohmann::json kept = box.keep();
  Outbox again(OutboxLimits{}, 1);
  const auto find = [&](const std::string&, const std::string&) {
    return std::optional<NoticeTarget>(letter("").target);
  };
  now = now + seconds(100 * 86'400);
  again.restore(kept, find, now, Instant{now.us - seconds(86'400).us});
  EXPECT_EQ(again.waiting(), 0u);
}

TEST_F(OutboxTest, ATargetThatIsRemovedIsForgotten) {
  add(letter("a"));
  ASSERT_EQ(take(), "a");
  box.drop("a");
  EXPECT_EQ(box.waiting(), 0u);
  add(letter("b"));
  EXPECT_EQ(take(), "b");
}

}  // namespace
}  // namespace dove::notices
