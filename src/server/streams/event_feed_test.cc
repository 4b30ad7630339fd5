// Pages of a log that is slow: they come beside the loop. What streams and pages hold is tested
// through the API (api_test, streams_test).
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
class FakeSlowLog : public store::LogStore {
 public:
  store::Head head() const override { return {}; }
  Result<void> append(Epoch, Seq, const store::Batch&) override { return {}; }
  Result<void> read(Seq after, const std::function<bool(const store::Batch&)>& visit) override {
    std::unique_lock lock(mutex_);
    ++reads_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hangs_; });
    if (reads_ == failing_read) return Error{ErrorKind::kUnavailable, "store_unreachable", "", ""};
    if (after.value < forgotten) return Error{ErrorKind::kNotFound, "records_forgotten", "", ""};
    for (std::uint64_t seq = after.value + 1; seq <= kRecords; ++seq) {
      store::Batch batch;
      batch.first_seq = Seq(seq);
      batch.at = Instant{static_cast<std::int64_t>(seq) * 10};
      batch.events.push_back(event());
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
  void wait_reads(int reads) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return reads_ >= reads; }));
  }
  int reads() {
    const std::lock_guard lock(mutex_);
    return reads_;
  }
  StampedEvent event() const {
    StampedEvent made{TimeReached{}, {}};
    made.cause.principal = std::string(name_bytes, 'x');
    return made;
  }
  // Not changed while somebody reads.
  std::size_t name_bytes = 0;
  std::uint64_t forgotten = 0;
  int failing_read = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
  int reads_ = 0;
};

class SlowFeed : public testing::Test {
 protected:
  static core::State state() {
    core::State made;
    made.head = Seq(kRecords);
    return made;
  }
  static EventFeed::Reader administrator(const std::string& name = "ada") {
    listener::Caller caller;
    caller.user = name;
    caller.admin = true;
    return {caller, [] { return false; }};
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
  FakeSlowLog log;
  listener::OpenAccess access;
  listener::Projection projection{state()};
  EventFeed feed{loop, projection, log, access};
};

TEST_F(SlowFeed, APageIsReadBesideTheLoop) {
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

TEST_F(SlowFeed, ATimeIsFoundWithoutReadingAllBeforeIt) {
  EventFilter filter;
  filter.from = Instant{kRecords * 10 - 45};
  filter.before = Instant{kRecords * 10 - 10};
  std::vector<std::uint64_t> numbers;
  std::optional<EventFeed::Page> page;
  feed.page(Seq(0), filter, administrator(), 1'000,
            [&](Result<EventFeed::Page> found) { page = std::move(*found); });
  ASSERT_TRUE(loop.run_until([&] { return page.has_value(); }, kLimit));
  for (const auto& record : page->records) numbers.push_back(record.at("seq"));
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{kRecords - 4, kRecords - 3, kRecords - 2}));
  EXPECT_TRUE(page->is_late) << "there is no next page";
  filter.from = Instant{1'000 * 10};
  filter.before = Instant{1'003 * 10};
  std::optional<EventFeed::OlderPage> older;
  feed.page_before(Seq(UINT64_MAX), filter, administrator(), 1'000,
                   [&](Result<EventFeed::OlderPage> found) { older = std::move(*found); });
  ASSERT_TRUE(loop.run_until([&] { return older.has_value(); }, kLimit));
  numbers.clear();
  for (const auto& record : older->records) numbers.push_back(record.at("seq"));
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1'002, 1'001, 1'000}));
  EXPECT_FALSE(older->older.has_value());
  EXPECT_LE(log.reads(), 60);
}

TEST_F(SlowFeed, OfATimeThatIsForgottenThereIsWhatIsKept) {
  log.forgotten = 7;
  EventFilter filter;
  filter.from = Instant{30};
  std::optional<EventFeed::Page> page;
  feed.page(Seq(0), filter, administrator(), 2,
            [&](Result<EventFeed::Page> found) { page = std::move(*found); });
  ASSERT_TRUE(loop.run_until([&] { return page.has_value(); }, kLimit));
  ASSERT_EQ(page->records.size(), 2U);
  EXPECT_EQ(page->records.front().at("seq"), 8);
}

TEST_F(SlowFeed, AReadThatFailsIsNotTakenForOneOfWhatIsForgotten) {
  EventFilter from;
  from.from = Instant{1'000 * 10};
  EventFilter before;
  before.before = Instant{1'000 * 10};
  std::vector<std::string> ends;
  const auto note = [&ends](const auto& found) {
    ends.push_back(found.ok() ? "" : found.error().code);
  };
  for (const int read : {1, 2, 5}) {
    ends.clear();
    log.failing_read = log.reads() + read;
    feed.page(Seq(0), from, administrator(), 1'000, note);
    ASSERT_TRUE(loop.run_until([&] { return ends.size() == 1; }, kLimit));
    log.failing_read = log.reads() + read;
    feed.page_before(Seq(UINT64_MAX), before, administrator(), 1'000, note);
    ASSERT_TRUE(loop.run_until([&] { return ends.size() == 2; }, kLimit));
    EXPECT_EQ(ends, std::vector<std::string>(2, "store_unreachable")) << "read " << read;
  }
  log.forgotten = 4'900;
  log.failing_read = log.reads() + 3;  // it looks for the oldest
  feed.page_before(Seq(4'951), {}, administrator(), 1'000, note);
  ASSERT_TRUE(loop.run_until([&] { return ends.size() == 3; }, kLimit));
  EXPECT_EQ(ends.back(), "store_unreachable");
}

TEST_F(SlowFeed, TheReadsOfOneUserTakeTurns) {
  std::vector<std::string> answered;
  const auto ask = [&](const std::string& user, const std::string& what) {
    feed.page(Seq(100), {}, administrator(user), 10, [&answered, what](const auto& found) {
      if (found.ok()) answered.push_back(what);
    });
  };
  log.hang(true);
  ask("ada", "ada's first");
  ask("ada", "ada's second");
  ask("grace", "grace's");
  log.hang(false);
  ASSERT_TRUE(loop.run_until([&] { return answered.size() == 3; }, kLimit));
  EXPECT_EQ(answered, (std::vector<std::string>{"ada's first", "grace's", "ada's second"}));
}

TEST_F(SlowFeed, WhoeverIsGoneReadsNoMore) {
  bool gone = false;
  std::vector<std::string> ends;
  const auto note = [&ends](const auto& found) {
    ends.push_back(found.ok() ? "" : found.error().code);
  };
  EventFeed::Reader reader = administrator();
  reader.is_gone = [&gone] { return gone; };
  log.hang(true);
  feed.page(Seq(0), {}, reader, 5'000, note);
  feed.page_before(Seq(UINT64_MAX), {}, reader, 5'000, note);
  EventFilter times;
  times.from = Instant{1'000 * 10};
  times.before = Instant{2'000 * 10};
  feed.page(Seq(0), times, reader, 5'000, note);
  feed.page_before(Seq(UINT64_MAX), times, reader, 5'000, note);
  log.wait_reads(1);
  gone = true;
  log.hang(false);
  ASSERT_TRUE(loop.run_until([&] { return ends.size() == 4; }, kLimit));
  EXPECT_EQ(ends, std::vector<std::string>(4, "reader_gone"));
  EXPECT_EQ(log.reads(), 1) << "neither its next window, nor what waited";
}

TEST_F(SlowFeed, WhatWaitsForItsTurnAtTheEndIsNotAnswered) {
  bool answered = false;
  auto ending = std::make_unique<EventFeed>(loop, projection, log, access);
  log.hang(true);
  for (int i = 0; i < 3; ++i) {
    ending->page(Seq(100), {}, administrator(), 10, [&](const auto&) { answered = true; });
  }
  log.wait_reads(1);
  log.hang(false);
  ending.reset();
  bool turned = false;
  loop.post([&] { turned = true; });
  ASSERT_TRUE(loop.run_until([&] { return turned; }, kLimit));
  EXPECT_FALSE(answered);
}

TEST_F(SlowFeed, OlderPagesEndWhereTheLogBegins) {
  EXPECT_EQ(older(UINT64_MAX, 2),
            (std::pair{std::vector<std::uint64_t>{kRecords, kRecords - 1}, kRecords - 1}));
  log.forgotten = 4'900;
  const auto [numbers, next] = older(4'951, 1'000);
  EXPECT_EQ(numbers.size(), 50U);
  EXPECT_EQ(numbers.back(), 4'901U);
  EXPECT_EQ(next, 0U);
}

// Takes all at once.
class FakeReader : public wire::Outflow {
 public:
  bool write(std::string_view bytes) override {
    largest = std::max(largest, bytes.size());
    for (std::size_t at = bytes.find("id: "); at != bytes.npos; at = bytes.find("id: ", at + 1)) {
      ++ids;
    }
    return true;
  }
  void close() override {}
  void cut() override {}
  void on_closed(std::function<void()>) override {}
  std::size_t buffered_bytes() const override { return 0; }

  std::size_t largest = 0;
  std::uint64_t ids = 0;
};

TEST_F(SlowFeed, ALargeBatchIsSentInPieces) {
  log.name_bytes = 10'000;
  const auto reader = std::make_shared<FakeReader>();
  feed.follow(reader, Seq(0), {}, administrator().caller);
  ASSERT_TRUE(loop.run_until([&] { return reader->ids >= kRecords; }, kLimit));
  EXPECT_EQ(reader->ids, kRecords);
  EXPECT_LT(reader->largest, (1u << 20) + 30'000) << "of what the log has";
  auto committed = std::make_shared<controller::CommittedBatch>();
  store::Batch& batch = committed->batch;
  batch.first_seq = Seq(kRecords + 1);
  for (int i = 0; i < 200; ++i) batch.events.push_back(log.event());
  reader->largest = 0;
  feed.published({committed, {}});
  EXPECT_EQ(reader->largest, 0u) << "it is read once more, as far as the reader takes it";
}

TEST_F(SlowFeed, WhatIsStillAskedWhenItEndsIsNotAnswered) {
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
