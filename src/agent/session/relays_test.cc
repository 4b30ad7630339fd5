#include "agent/session/relays.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::agent {
namespace {

class RelaysTest : public ::testing::Test {
 protected:
  RelaysTest() {
    std::string pattern = ::testing::TempDir() + "relays.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~RelaysTest() override { std::filesystem::remove_all(folder_); }

  Relays::Send line() {
    return [this](std::string target, std::string body, std::function<void(Relays::Sent)> done) {
      targets_.push_back(target);
      const bool is_lost = lost_ > 0 && lost_-- > 0;
      if (!is_lost) text_ += body;
      ended_ = ended_ || target.find("end=1") != std::string::npos;
      loop_.post([done, is_lost] { done(is_lost ? Relays::Sent::kBroken : Relays::Sent::kTaken); });
    };
  }
  void write(const std::string& text) { std::ofstream(folder_ + "/out", std::ios::app) << text; }
  Relays::Source source(bool follow) { return {folder_ + "/out", 0, std::nullopt, follow}; }
  bool until(const std::function<bool()>& done) {
    // Something must happen for the loop to ask again.
    std::function<void()> tick = [&] {
      ticker_ = loop_.after(std::chrono::milliseconds(2), [&tick] { tick(); });
    };
    tick();
    const bool held = loop_.run_until(done, std::chrono::seconds(30));
    ticker_.cancel();
    return held;
  }

  std::string folder_;
  wire::Loop loop_;
  wire::Timer ticker_;
  std::string text_;
  bool ended_ = false;
  std::vector<std::string> targets_;
  int lost_ = 0;  // of the next chunks
  Relays relays_{loop_, "n1", [this] { return line(); }};
};

TEST_F(RelaysTest, AFileThatIsOverIsSentToItsEnd) {
  const std::string much(300'000, 'x');
  write(much);
  relays_.open("a", "", source(/*follow=*/false), /*marks_end=*/true);
  ASSERT_TRUE(until([&] { return ended_; }));
  EXPECT_EQ(text_, much);
}

TEST_F(RelaysTest, AFileIsFollowedUntilItsWriterIsOver) {
  relays_.open("a", "", source(/*follow=*/true), /*marks_end=*/true);  // it is not there yet
  write("one\n");
  ASSERT_TRUE(until([&] { return text_ == "one\n"; }));
  write("two\n");
  ASSERT_TRUE(until([&] { return text_ == "one\ntwo\n"; }));
  EXPECT_FALSE(ended_);
  write("three\n");
  relays_.finish(folder_ + "/out");
  ASSERT_TRUE(until([&] { return ended_; }));
  EXPECT_EQ(text_, "one\ntwo\nthree\n");
}

TEST_F(RelaysTest, AFileThatMovedBeforeItWasOpenedIsReadWhereItIs) {
  write("one\n");
  Relays::Source before = source(/*follow=*/true);
  before.path = folder_ + "/attempt/out";
  relays_.open("a", "", before, /*marks_end=*/true);
  relays_.finish(before.path);
  relays_.moved(folder_ + "/attempt", folder_);
  ASSERT_TRUE(until([&] { return ended_; }));
  EXPECT_EQ(text_, "one\n");
}

TEST_F(RelaysTest, ItIsSaidWhenNoneIsLeft) {
  write("one\n");
  bool drained = false;
  relays_.open("a", "", source(/*follow=*/true), /*marks_end=*/false);
  relays_.when_drained("a", [&] { drained = true; });
  ASSERT_TRUE(until([&] { return text_ == "one\n"; }));
  EXPECT_FALSE(drained);
  relays_.close("a");
  EXPECT_TRUE(drained);
}

TEST_F(RelaysTest, AnUnansweredChunkIsToldUntilItIsHeard) {
  write("one\n");
  lost_ = 3;
  bool drained = false;
  relays_.open("a", "rank=0&stream=stdout", source(/*follow=*/true), /*marks_end=*/true);
  relays_.when_drained("a", [&] { drained = true; });
  ASSERT_TRUE(until([&] { return drained; }));
  const std::string broken = "/v1/agents/n1/relays/a?end=0&broken=1&rank=0&stream=stdout";
  ASSERT_EQ(targets_.size(), 4u);
  EXPECT_EQ(targets_[0], "/v1/agents/n1/relays/a?end=0&rank=0&stream=stdout");
  for (std::size_t i = 1; i < targets_.size(); ++i) EXPECT_EQ(targets_[i], broken);
  EXPECT_EQ(text_, "") << "it may have been taken, and comes no second time";
}

TEST_F(RelaysTest, NobodysFileIsNotShown) {
  write("secret\n");
  Relays::Source of_nobody = source(/*follow=*/false);
  of_nobody.owner = "";
  relays_.open("a", "", of_nobody, /*marks_end=*/true);
  ASSERT_TRUE(until([&] { return ended_; }));
  EXPECT_EQ(text_, "");
}

}  // namespace
}  // namespace dove::agent
