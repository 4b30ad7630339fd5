#include "agent/session/lease_keeper.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

namespace dove::agent {
namespace {

class LeaseKeeperTest : public ::testing::Test {
 protected:
  LeaseKeeperTest() {
    std::string pattern = ::testing::TempDir() + "lease_keeper.XXXXXX";
    data_ = mkdtemp(pattern.data());
    open();
  }
  ~LeaseKeeperTest() override {
    close();
    std::filesystem::remove_all(data_);
  }
  void open() {
    Result<Contact> opened = Contact::open(data_ + "/contact", std::chrono::seconds(0));
    contact_ = std::make_unique<Contact>(std::move(opened).value());
    contact_->begin_boot("boot-1");
    keeper_ = std::make_unique<LeaseKeeper>(
        loop_, *contact_,
        LeaseKeeper::Host{[this](std::int64_t) { ++renewed_; }, [this] { ++asked_; },
                          [this] {
                            ++looked_;
                            return loop_.monotonic_us() + ahead_us_;
                          }});
  }
  void close() {
    keeper_.reset();
    contact_.reset();
  }
  // Whether the restarted agent renews after it has been told that the controller is down.
  bool renews_after_restart() {
    close();
    open();
    keeper_->begin();
    keeper_->controller_down(loop_.monotonic_us());
    return renews();
  }
  void begin_session(std::int64_t grace_us = 60'000'000) {
    keeper_->begin();
    keeper_->session_began({/*fence_us=*/8'000, /*disconnect_grace_us=*/grace_us,
                            /*outage_grace_us=*/60'000'000, /*heartbeat_us=*/1'000},
                           loop_.monotonic_us());
    contact_->lives_in("boot-1");
  }
  // The clock leaps, and it is seen.
  void leap(std::int64_t us) {
    ahead_us_ += us;
    const int before = looked_;
    ASSERT_TRUE(loop_.run_until([&] { return looked_ > before; }, std::chrono::seconds(10)));
  }
  // Whether it is still renewed, some fences later.
  bool renews() {
    renewed_ = 0;
    bool over = false;
    const wire::Timer timer = loop_.after(std::chrono::milliseconds(40), [&over] { over = true; });
    loop_.run_until([&over] { return over; }, std::chrono::seconds(10));
    return renewed_ > 0;
  }

  std::string data_;
  wire::Loop loop_;
  std::unique_ptr<Contact> contact_;
  int renewed_ = 0;
  int asked_ = 0;
  int looked_ = 0;                         // at the clock
  std::int64_t ahead_us_ = 1'000'000'000;  // the wall clock, of the loop's
  std::unique_ptr<LeaseKeeper> keeper_;
};

TEST_F(LeaseKeeperTest, NothingIsRenewedBeforeTheFirstSession) {
  keeper_->begin();
  EXPECT_EQ(renewed_, 0);
  begin_session();
  EXPECT_EQ(renewed_, 1);
  EXPECT_TRUE(renews());
}

TEST_F(LeaseKeeperTest, OutlivesSilenceButNotABreak) {
  begin_session();
  keeper_->session_lost(/*in_silence=*/true);
  keeper_->unreachable();
  EXPECT_TRUE(renews());
  begin_session();
  keeper_->session_lost(/*in_silence=*/false);
  EXPECT_FALSE(renews());
}

// Also after a break: the next controller counts from its own beginning.
TEST_F(LeaseKeeperTest, IsRenewedForAsLongAsANewControllerWaits) {
  keeper_->begin();
  keeper_->session_began({/*fence_us=*/8'000, /*disconnect_grace_us=*/1,
                          /*outage_grace_us=*/60'000'000, /*heartbeat_us=*/1},
                         loop_.monotonic_us());
  keeper_->session_lost(/*in_silence=*/false);
  EXPECT_FALSE(renews());
  keeper_->awaited(loop_.monotonic_us(), 60'000'000);
  EXPECT_TRUE(renews());
  keeper_->silence_broken();
  EXPECT_TRUE(renews()) << "of a former controller";
  keeper_->awaited(loop_.monotonic_us(), 0);
  EXPECT_FALSE(renews());
}

TEST_F(LeaseKeeperTest, SilenceThatIsBrokenLaterIsABreak) {
  begin_session();
  keeper_->session_lost(/*in_silence=*/true);
  keeper_->silence_broken();
  EXPECT_FALSE(renews());
}

TEST_F(LeaseKeeperTest, ARefusalEndsItAndASessionBeginsItAgain) {
  begin_session();
  keeper_->session_lost(/*in_silence=*/true);
  keeper_->refused();
  EXPECT_FALSE(renews());
  begin_session();
  EXPECT_TRUE(renews());
}

TEST_F(LeaseKeeperTest, AControllerThatIsDownOrFullCountsOnNobodysEnd) {
  begin_session();
  keeper_->session_lost(/*in_silence=*/false);
  keeper_->controller_down(loop_.monotonic_us());
  EXPECT_TRUE(renews());
  keeper_->unreachable();  // it is being started
  EXPECT_TRUE(renews());
  keeper_->refused();
  keeper_->controller_full(loop_.monotonic_us());
  EXPECT_TRUE(renews());
}

// A virtual machine was paused, or somebody has set the clock: only the controller can tell.
TEST_F(LeaseKeeperTest, AfterALeapOfTheClockTheControllerIsAskedFirst) {
  begin_session();
  ahead_us_ += 7'000;  // less than a fence
  EXPECT_TRUE(renews());
  ahead_us_ -= 3'600'000'000;
  EXPECT_TRUE(renews()) << "set back";
  EXPECT_EQ(asked_, 0);
  const std::int64_t sent_us = loop_.monotonic_us();
  ahead_us_ += 9'000;
  EXPECT_FALSE(renews());
  EXPECT_GT(asked_, 1);
  contact_->heard(sent_us);
  EXPECT_FALSE(renews()) << "what was asked before it";
  contact_->heard(loop_.monotonic_us());
  asked_ = 0;
  EXPECT_TRUE(renews());
  EXPECT_EQ(asked_, 0);
}

TEST_F(LeaseKeeperTest, ALeapOfTheClockIsTimeThatPassedInSilence) {
  begin_session();
  keeper_->session_lost(/*in_silence=*/true);
  ahead_us_ += 30'000'000;
  EXPECT_TRUE(renews()) << "half of the grace";
  ahead_us_ += 31'000'000;
  EXPECT_FALSE(renews());
  keeper_->awaited(loop_.monotonic_us(), 60'000'000);
  EXPECT_TRUE(renews()) << "a controller has said so";
  ahead_us_ += 61'000'000;
  EXPECT_FALSE(renews());
  EXPECT_EQ(asked_, 0) << "there is no session";
}

// It may have started the tasks elsewhere before it went down, or its disk was full.
TEST_F(LeaseKeeperTest, AfterALongPauseAControllerThatIsDownOrFullProvesNothing) {
  const std::int64_t hour_us = 3'600'000'000;
  for (const bool in_silence : {false, true}) {
    for (const bool is_full : {false, true}) {
      begin_session();
      ahead_us_ += hour_us;
      keeper_->session_lost(in_silence);
      if (is_full) {
        keeper_->controller_full(loop_.monotonic_us());
      } else {
        keeper_->controller_down(loop_.monotonic_us());
      }
      EXPECT_FALSE(renews()) << in_silence << is_full;
      keeper_->controller_down(loop_.monotonic_us());
      EXPECT_FALSE(renews()) << "nor does it later";
      EXPECT_FALSE(contact_->knows_outage());
    }
  }
  begin_session();
  EXPECT_TRUE(renews());
}

// A session may have broken for the controller while this machine was away, a silence may not.
TEST_F(LeaseKeeperTest, AfterAPauseWithinTheGraceASilentControllerThatIsDownStillCounts) {
  begin_session();
  keeper_->session_lost(/*in_silence=*/true);
  ahead_us_ += 30'000'000;
  keeper_->controller_down(loop_.monotonic_us());
  EXPECT_TRUE(renews());
  ahead_us_ += 20'000'000;
  EXPECT_TRUE(renews()) << "nobody decides in an outage";
  begin_session();
  keeper_->session_lost(/*in_silence=*/true);
  ahead_us_ += 60'000'000 + 20'000;
  keeper_->controller_down(loop_.monotonic_us());
  EXPECT_FALSE(renews());
  begin_session();
  ahead_us_ += 30'000'000;
  keeper_->session_lost(/*in_silence=*/false);
  keeper_->controller_down(loop_.monotonic_us());
  EXPECT_FALSE(renews());
}

TEST_F(LeaseKeeperTest, ALeapAfterTheQuestionUsesUpTheWait) {
  begin_session();
  keeper_->session_lost(/*in_silence=*/false);
  const std::int64_t sent_us = loop_.monotonic_us();
  ahead_us_ += 30'000'000;
  keeper_->awaited(sent_us, 59'000'000);
  EXPECT_TRUE(renews());
  ahead_us_ += 31'000'000;
  keeper_->awaited(sent_us, 59'000'000);
  EXPECT_FALSE(renews());
  keeper_->awaited(loop_.monotonic_us(), 59'000'000);
  EXPECT_TRUE(renews());
}

// The sync that it sends then may be taken, or not: a node that was given up is not.
TEST_F(LeaseKeeperTest, ASyncThatMayBeTakenBringsNoTimeBack) {
  begin_session();
  keeper_->controller_down(loop_.monotonic_us());
  ahead_us_ += 61'000'000;
  EXPECT_FALSE(renews());
  keeper_->may_be_heard(loop_.monotonic_us());
  EXPECT_FALSE(renews());
}

// The controller may have seen a break during the pause, and have started the tasks elsewhere.
TEST_F(LeaseKeeperTest, ARestartHidesNoLeap) {
  begin_session();
  EXPECT_TRUE(renews_after_restart());
  begin_session();
  leap(9'000);
  EXPECT_FALSE(renews_after_restart()) << "it was seen";
  EXPECT_FALSE(renews_after_restart()) << "once more";
  begin_session();
  ahead_us_ += 9'000;
  EXPECT_FALSE(renews_after_restart()) << "nobody had looked";
  begin_session();
  EXPECT_TRUE(renews_after_restart()) << "it has answered since";
}

TEST_F(LeaseKeeperTest, ALeapInAnOutageIsTimeThatPassedAfterARestart) {
  begin_session();
  keeper_->controller_down(loop_.monotonic_us());
  leap(50'000'000);
  EXPECT_TRUE(renews_after_restart());
  leap(50'000'000);
  close();
  open();
  keeper_->begin();
  keeper_->unreachable();
  EXPECT_FALSE(renews());
}

TEST_F(LeaseKeeperTest, SmallLeapsAddUp) {
  begin_session(/*grace_us=*/400'000);
  leap(7'000);
  contact_->heard(loop_.monotonic_us() + 1);
  leap(7'000);
  EXPECT_TRUE(renews()) << "it has answered in between";
  EXPECT_EQ(asked_, 0);
  leap(7'000);
  EXPECT_FALSE(renews());
  EXPECT_GT(asked_, 0);
  contact_->heard(loop_.monotonic_us());
  keeper_->session_lost(/*in_silence=*/true);
  for (int i = 0; i < 60; ++i) leap(7'000);
  EXPECT_FALSE(renews()) << "for longer than the grace in all";
}

}  // namespace
}  // namespace dove::agent
