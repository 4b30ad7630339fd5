#include "slurm/gate/past_ends.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

constexpr const char kDisabled[] = "Slurm accounting storage is disabled\n";

class PastEndsTest : public testing::Test {
 protected:
  CommandEnd says;
  std::vector<std::string> asked;
  PastEnds ends{[this](const CommandWanted& wanted) -> Result<CommandEnd> {
    asked.push_back(wanted.words.back());
    return says;
  }};
};

TEST_F(PastEndsTest, LinesOfSacctAreReadAndThoseOfLivingJobsPassedOver) {
  const auto read = read_past_ends(
      "5|COMPLETED|0:0\n6|FAILED|3:0\n7|CANCELLED by 1000|0:15\n8|RUNNING|0:0\n5.batch|FAILED|1:0\n"
      "9|TIMEOUT|0:0\nnonsense\n10|FAILED|\n");
  EXPECT_EQ(read, (std::map<std::int64_t, PastEnd>{{5, {"COMPLETED", 0}},
                                                   {6, {"FAILED", 3 << 8}},
                                                   {7, {"CANCELLED", 15}},
                                                   {9, {"TIMEOUT", 0}}}));
}

TEST_F(PastEndsTest, WhatIsKnownIsNotAskedAgainAndForgottenWhenNobodyWantsIt) {
  says.output = "5|COMPLETED|0:0\n";
  ends.look({5, 6}, 1000);
  EXPECT_EQ(asked, std::vector<std::string>{"--jobs=5,6"});
  EXPECT_EQ(ends.known().at(5), (PastEnd{"COMPLETED", 0}));
  EXPECT_FALSE(ends.known().contains(6));
  ends.look({5, 6}, 1001);
  EXPECT_EQ(asked.size(), 1u) << "not at each look";
  says.output = "6|FAILED|1:0\n";
  ends.look({5, 6}, 1010);
  EXPECT_EQ(asked.back(), "--jobs=6");
  EXPECT_EQ(ends.known().at(6).state, "FAILED");
  ends.look({}, 1011);
  EXPECT_TRUE(ends.known().empty());
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(PastEndsTest, AnAccountingThatDoesNotAnswerIsWaitedForForAMinute) {
  says.code = 1;
  says.said = "sacct: error: Problem talking to the database";
  for (std::int64_t now_s = 1000; now_s < 1060; ++now_s) ends.look({5}, now_s);
  EXPECT_TRUE(ends.known().empty());
  EXPECT_EQ(asked.size(), 6u);
  ends.look({5}, 1060);
  EXPECT_EQ(ends.known().at(5), PastEnd{});
}

TEST_F(PastEndsTest, WithoutAccountingNothingIsWaitedFor) {
  says.code = 1;
  says.said = kDisabled;
  ends.look({5}, 1000);
  EXPECT_EQ(ends.known().at(5), PastEnd{});
}

}  // namespace
}  // namespace dove::slurm
