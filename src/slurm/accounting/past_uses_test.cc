#include "slurm/accounting/past_uses.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kNow_s = 100 * kDay_s;

class PastUsesTest : public testing::Test {
 protected:
  PastUsesTest() { answer.lent.nodes = {"n[0-1]"}; }
  // A report to a controller that wants to know what `answer` says.
  void tell(bool complete = true) {
    SyncRequest request;
    request.complete = complete;
    const auto answered = past.sync(
        request,
        [this](const SyncRequest& sent) -> Result<SyncAnswer> {
          said = sent.past;
          return answer;
        },
        now_s);
    EXPECT_TRUE(answered.ok());
  }
  void want(std::int64_t from_s, std::int64_t until_s) {
    answer.unwatched = {{from_s * kSecond_us}, {until_s * kSecond_us}};
  }
  static std::string line(std::int64_t id, std::int64_t end_s, const char* name = "train") {
    return fmt::format("{}|{}|{}|n0|lab|cpu=2,gres/gpu=1,mem=100M|{}\n", id, end_s - 10, end_s,
                       name);
  }
  Result<CommandEnd> answers(const CommandWanted& wanted) {
    asked.push_back(wanted);
    if (fails) return *fails;
    return says;
  }
  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> found;
    for (const PastUse& use : said->uses) found.push_back(use.id);
    return found;
  }

  std::int64_t now_s = kNow_s;
  SyncAnswer answer;
  CommandEnd says;
  std::optional<Error> fails;
  std::vector<CommandWanted> asked;
  std::optional<PastPart> said;
  PastUses past{"dove", [this](const CommandWanted& wanted) { return answers(wanted); }};
};

TEST_F(PastUsesTest, WhatEndedIsToldUntilTheLedgerHasIt) {
  want(kNow_s - 100, kNow_s - 50);
  says.output = line(5, kNow_s - 60) + line(6, kNow_s - 51) + line(7, kNow_s - 50);
  tell();
  EXPECT_FALSE(said);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].words[7], fmt::format("--starttime=uts{}", kNow_s - 100));
  EXPECT_EQ(asked[0].environment, std::vector<std::string>{"SLURM_TIME_FORMAT=%s"});
  tell();
  ASSERT_TRUE(said);
  EXPECT_EQ(ids(), (std::vector<std::int64_t>{5, 6})) << "the last ended when it was heard of";
  EXPECT_EQ(said->uses[0].gpus_milli, 1000);
  EXPECT_EQ(said->until, answer.unwatched->until);
  tell();
  EXPECT_TRUE(said) << "the ledger did not take it";
  answer.unwatched.reset();
  tell();
  tell();
  EXPECT_FALSE(said);
  EXPECT_EQ(asked.size(), 1u);
}

TEST_F(PastUsesTest, APartThatTheControllerRefusesKeepsNoReportFromIt) {
  want(kNow_s - 100, kNow_s - 50);
  says.output = line(5, kNow_s - 60);
  tell();
  SyncRequest request;
  const auto sent = [&](const Error& refusal) {
    bool with_past = false;
    (void)past.sync(
        request,
        [&](const SyncRequest& whole) -> Result<SyncAnswer> {
          with_past = whole.past.has_value();
          return refusal;
        },
        now_s);
    return with_past;
  };
  EXPECT_TRUE(sent({ErrorKind::kUnavailable, "connection_refused", "it is down", ""}));
  tell();
  EXPECT_EQ(ids(), std::vector<std::int64_t>{5});
  const Error refusal{ErrorKind::kInvalid, "bad_text", "no", "past.jobs[0].account"};
  EXPECT_TRUE(sent(refusal));
  tell();
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->uses.empty()) << "the time is closed with nothing";
  EXPECT_TRUE(sent(refusal));
  EXPECT_FALSE(sent(refusal));
}

TEST_F(PastUsesTest, SlurmHasSomeTimeToAccountWhatEnded) {
  want(kNow_s - 100, kNow_s - 1);
  tell();
  EXPECT_TRUE(asked.empty());
  now_s += kAccounted_s;
  tell(false);
  EXPECT_TRUE(asked.empty()) << "Slurm does not answer";
  tell();
  EXPECT_EQ(asked.size(), 1u);
}

TEST_F(PastUsesTest, PlaceholdersAndFencesAreNobodysUse) {
  want(kNow_s - 100, kNow_s - 50);
  says.output = line(5, kNow_s - 60, "dove-17.1@dove") + line(6, kNow_s - 60, "dove-17.1@other") +
                line(7, kNow_s - 60, "dove-fence-17.1@dove");
  tell();
  tell();
  ASSERT_TRUE(said);
  EXPECT_EQ(ids(), std::vector<std::int64_t>{6});
}

TEST_F(PastUsesTest, ALongTimeIsAskedDayByDay) {
  want(kNow_s - 3 * kDay_s, kNow_s - 50);
  tell();
  tell();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->until.us / kSecond_us, kNow_s - 2 * kDay_s);
  answer.unwatched->from = said->until;
  tell();
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(PastUsesTest, WhatIsTooLongAgoIsCut) {
  want(kNow_s - 90 * kDay_s, kNow_s - 50);
  tell();
  tell();
  EXPECT_TRUE(asked.empty());
  ASSERT_TRUE(said);
  EXPECT_EQ(said->until.us / kSecond_us, kNow_s - kPastMax_s);
  EXPECT_TRUE(said->uses.empty());
  answer.unwatched->from = said->until;
  now_s += 10;
  tell();
  EXPECT_EQ(asked.size(), 1u) << "the rest is asked, however much later";
}

TEST_F(PastUsesTest, TooMuchIsAskedInSmallerParts) {
  want(kNow_s - 3 * kDay_s, kNow_s - 50);
  fails = Error{ErrorKind::kTooLarge, "too_much", "sacct says too much", ""};
  tell();
  fails.reset();
  tell();
  tell();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->until.us / kSecond_us, kNow_s - 3 * kDay_s + kDay_s / 4);
}

TEST_F(PastUsesTest, TooManyJobsOfOneMinuteAreNotCounted) {
  want(kNow_s - 100, kNow_s - 50);
  for (std::size_t i = 0; i <= kPastJobsMax; ++i) {
    says.output += line(static_cast<std::int64_t>(i) + 1, kNow_s - 60);
  }
  for (int i = 0; i < 20 && !said; ++i) tell();
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->uses.empty());
  EXPECT_LT(asked.size(), 10u);
}

TEST_F(PastUsesTest, AnAccountingThatDoesNotAnswerIsAskedAgain) {
  want(kNow_s - 100, kNow_s - 50);
  says.code = 1;
  says.said = "sacct: error: Problem talking to the database";
  tell();
  tell();
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_FALSE(said);
  now_s += 30;
  tell();
  EXPECT_EQ(asked.size(), 2u);
  now_s += 30;
  tell();
  EXPECT_EQ(asked.size(), 2u) << "each question may take ten seconds";
  now_s += 30;
  says = {};
  tell();
  tell();
  EXPECT_EQ(asked.size(), 3u);
  EXPECT_TRUE(said);
}

TEST_F(PastUsesTest, WithoutAccountingNothingEnded) {
  want(kNow_s - 10 * kDay_s, kNow_s - 50);
  says.code = 1;
  says.said = "Slurm accounting storage is disabled\n";
  tell();
  tell();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->until, answer.unwatched->until);
  EXPECT_TRUE(said->uses.empty());
}

}  // namespace
}  // namespace dove::slurm
