#include "listener/refusal_tally.h"

#include <gtest/gtest.h>

#include <string>

namespace dove::listener {
namespace {

class RefusalTallyTest : public testing::Test {
 protected:
  void refuse(const std::string& who, std::int64_t times = 1) {
    tally.note({who, "10.0.0.7", "getEvents", "not_auditor", times});
  }

  std::int64_t now_us = 1'000'000;
  std::int64_t handshakes = 0;
  RefusalTally tally{[this] { return handshakes; }, [this] { return now_us; }};
};

TEST_F(RefusalTallyTest, EqualOnesAreCountedTogetherAndTheLastComesFirst) {
  refuse("ada", 3);
  now_us += 5'000'000;
  refuse("bob");
  refuse("ada", 2);
  now_us += 2'000'000;
  const RefusalsSaid said = tally.said();
  EXPECT_EQ(said.calls, 6);
  ASSERT_EQ(said.last.size(), 2u);
  EXPECT_EQ(said.last[0].calls, (CallsRefused{"ada", "10.0.0.7", "getEvents", "not_auditor", 5}));
  EXPECT_EQ(said.last[0].ago_ms, 2'000);
  EXPECT_EQ(said.last[1].calls.who, "bob");
  now_us += 3'600'000'000;
  EXPECT_TRUE(tally.said().last.empty()) << "they are long over";
  EXPECT_EQ(tally.said().calls, 6);
}

TEST_F(RefusalTallyTest, AnotherControllerReadsWhatWasWritten) {
  EXPECT_EQ(write_refusals(tally.said(), 1024), "") << "nothing was refused";
  EXPECT_EQ(read_refusals("").calls, 0);
  handshakes = 7;
  refuse("a level name");
  const std::string text = write_refusals(tally.said(), 1024);
  EXPECT_EQ(text.find(' '), std::string::npos) << text;
  const RefusalsSaid read = read_refusals(text);
  EXPECT_EQ(read.handshakes, 7);
  EXPECT_EQ(read.calls, 1);
  ASSERT_EQ(read.last.size(), 1u);
  EXPECT_EQ(read.last[0].calls.who, "a level name");
  for (const char* bad : {"{", "3", "{\"calls\":1}", "{\"calls\":\"x\",\"handshakes\":0}"}) {
    EXPECT_EQ(read_refusals(bad).calls, 0) << bad;
  }
}

TEST_F(RefusalTallyTest, ItStaysSmallWhateverComes) {
  for (int i = 0; i < 1'000; ++i) refuse(std::string(10'000, '\x01') + std::to_string(i));
  for (int i = 0; i < 1'000; ++i) refuse(std::to_string(i) + std::string(10'000, '\xff'));
  EXPECT_EQ(tally.said().calls, 2'000);
  EXPECT_EQ(tally.said().last.size(), 5u);
  const std::string text = write_refusals(tally.said(), 1024);
  EXPECT_LE(text.size(), 1024u);
  EXPECT_EQ(read_refusals(text).calls, 2'000);
  EXPECT_FALSE(read_refusals(text).last.empty());
}

}  // namespace
}  // namespace dove::listener
