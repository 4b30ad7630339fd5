// Pages of the log where it is across a network: they come beside the loop. What streams and pages
// hold is tested through the API (api_test, streams_test).
#include "server/streams/event_feed.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

namespace dove::server {
namespace {

constexpr std::chrono::seconds kLimit{20};
constexpr std::uint64_t kRecords = 5'000;

// One event a batch; those up to `forgotten` are not kept. Hangs while it is told to.
class FakeRemoteLog : public store::LogStore {
 public:
  store::Head head() const override { return {}; }
  Result<void> append(Epoch, Seq, const store::Batch&) override { return {}; }
  Result<void> read(Seq after, const std::function<bool(const store::Batch&)>& visit) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !hangs_; });
    if (after.value < forgotten) return Error{ErrorKind::kNotFound, "records_forgotten", "", ""};
    for (std::uint64_t seq = after.value + 1; seq <= kRecords; ++seq) {
      store::Batch batch;
      batch.first_seq = Seq(seq);
      batch.events.push_back({TimeReached{}, {}});
      if (!visit(batch)) break;
    }
    return {};
  }
  Result<std::optional<std::string>> blob(const std::string&) override {
    return std::optional<std::string>();
  }
  void hang(bool hangs) {
    {
      const std::lock_guard lock(mutex_);
      hangs_ = hangs;
    }
    changed_.notify_all();
  }
  std::uint64_t forgotten = 0;  // not changed while somebody reads

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
};

class RemoteFeed : public testing::Test {
 protected:
  static core::State state() {
    core::State made;
    made.head = Seq(kRecords);
    return made;
  }
  static listener::Caller administrator() {
    listener::Caller caller;
    caller.admin = true;
    return caller;
  }
  // The numbers of an older page's records, and where the next begins.
  std::pair<std::vector<std::uint64_t>, std::uint64_t> older(std::uint64_t before,
                                                             std::size_t limit) {
    std::optional<EventFeed::OlderPage> page;
    feed.page_before(Seq(before), {}, administrator(), limit,
                     [&](Result<EventFeed::OlderPage> found) { page = std::move(*found); });
    EXPECT_TRUE(loop.run_until([&] { return page.has_value(); }, kLimit));
    std::vector<std::uint64_t> numbers;
    for (const auto& record : page->records) numbers.push_back(record.at("seq"));
    return {numbers, page->older.value_or(Seq()).value};
  }

  wire::Loop loop;
  FakeRemoteLog log;
  listener::OpenAccess access;
  listener::Projection projection{state()};
  EventFeed feed{loop, projection, log, /*aside=*/true, access};
};

TEST_F(RemoteFeed, APageIsReadBesideTheLoop) {
  log.hang(true);
  std::optional<EventFeed::Page> page;
  feed.page(Seq(100), {}, administrator(), 2'500,
            [&](Result<EventFeed::Page> found) { page = std::move(*found); });
  bool turned = false;
  loop.post([&] { turned = true; });
  EXPECT_TRUE(loop.run_until([&] { return turned; }, kLimit)) << "the loop goes on";
  EXPECT_FALSE(page.has_value());
  log.hang(false);
  ASSERT_TRUE(loop.run_until([&] { return page.has_value(); }, kLimit));
  ASSERT_EQ(page->records.size(), 2'500U) << "from more than one window";
  EXPECT_EQ(page->records.front().at("seq"), 101);
  EXPECT_EQ(page->looked_through, Seq(2'600));
}

TEST_F(RemoteFeed, OlderPagesEndWhereTheLogBegins) {
  EXPECT_EQ(older(UINT64_MAX, 2),
            (std::pair{std::vector<std::uint64_t>{kRecords, kRecords - 1}, kRecords - 1}));
  log.forgotten = 4'900;
  const auto [numbers, next] = older(4'951, 1'000);
  EXPECT_EQ(numbers.size(), 50U);
  EXPECT_EQ(numbers.back(), 4'901U);
  EXPECT_EQ(next, 0U);
}

TEST_F(RemoteFeed, WhatIsStillAskedWhenItEndsIsNotAnswered) {
  bool answered = false;
  {
    listener::LogThread thread(loop, log, /*aside=*/true);
    log.hang(true);
    thread.ask(
        [](store::LogStore& read) { (void)read.read(Seq(), [](const auto&) { return false; }); },
        [&] { answered = true; });
    log.hang(false);
  }
  bool turned = false;
  loop.post([&] { turned = true; });
  ASSERT_TRUE(loop.run_until([&] { return turned; }, kLimit));
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace dove::server
