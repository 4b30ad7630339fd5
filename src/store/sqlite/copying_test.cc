#include "store/chain/log_page.h"
#include "store/sqlite/bed_for_test.h"

namespace dove::store {
namespace {

struct Logs : testing::Test {
  Directory from_directory, to_directory;
  std::unique_ptr<SqliteStore> from = open(from_directory.path());
  std::unique_ptr<SqliteStore> to = open(to_directory.path());
  Epoch epoch = *from->begin_epoch("test");

  LogPage page(std::size_t bytes_max = 1 << 20) {
    auto bytes = from->page(to->head().seq, to->head().epoch, bytes_max);
    EXPECT_TRUE(bytes.ok()) << bytes.error().message;
    auto page = decode_page(*bytes);
    EXPECT_TRUE(page.ok());
    return std::move(page).value();
  }
  Result<void> take(const LogPage& page, const Snapshot* first = nullptr) {
    TRY_ASSIGN(const auto batches, verified_batches(page));
    return to->take(page, batches, first);
  }
};

TEST_F(Logs, ACopyIsTheSameLogPageByPage) {
  for (int i = 0; i < 5; ++i) append(*from, epoch, 2, 1);
  int pages = 0;
  for (; to->head().seq < from->head().seq; ++pages) ASSERT_TRUE(take(page(1)).ok());
  EXPECT_EQ(pages, 5);
  EXPECT_EQ(to->head().chain_sha256, from->head().chain_sha256);
  EXPECT_TRUE(page().batches.empty());
  EXPECT_TRUE(take(page()).ok());
  EXPECT_TRUE(to->verify().ok());
  to.reset();
  to = open(to_directory.path());
  EXPECT_EQ(to->head().chain_sha256, from->head().chain_sha256);
  EXPECT_EQ(*to->begin_epoch("next"), Epoch{epoch.value + 1});
}

TEST_F(Logs, TermsAndBlobsComeWithThem) {
  append(*from, epoch, 1, 0);
  epoch = *from->begin_epoch("second");
  append(*from, epoch, 1, 0);
  const std::string sha256 = hex_of(Chain().of("a script"));
  const LogPage both = page();
  auto batches = *verified_batches(both);
  batches[0].blobs = {{sha256, "a script"}};
  ASSERT_TRUE(to->take(both, batches).ok());
  EXPECT_EQ(to->blob(sha256)->value_or(""), "a script");
  EXPECT_EQ(to->begin_epoch("next")->value, 3u);
}

TEST_F(Logs, WhatWasChangedOnTheWayIsNotTaken) {
  append(*from, epoch, 2, 2);
  const auto refused = [&](const char* code, const std::function<void(LogPage&)>& change) {
    LogPage changed = page();
    change(changed);
    const Result<void> taken = take(changed);
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, code) << taken.error().message;
  };
  refused("log_corrupt", [](LogPage& p) { p.batches[0].records[1].body.back() ^= 1; });
  refused("log_corrupt", [](LogPage& p) { p.batches[0].header.at_us += 1; });
  refused("log_corrupt", [](LogPage& p) { p.batches[0].records.pop_back(); });
  refused("log_corrupt", [](LogPage& p) { p.batches[0].records.push_back({}); });
  refused("log_corrupt", [](LogPage& p) { p.batches[0].records[0].kind = "NodeLost"; });
  refused("log_corrupt", [](LogPage& p) { p.before.chain[0] ^= 1; });
  EXPECT_FALSE(to->head().seq);
  EXPECT_FALSE(decode_page("no page").ok());
}

TEST_F(Logs, AnotherLogIsRefusedAndNamed) {
  append(*from, epoch, 2, 1);
  ASSERT_TRUE(take(page()).ok());
  append(*to, epoch, 1, 0);  // the source was put back to an earlier moment
  Result<void> taken = take(page());
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, "log_differs");
  EXPECT_EQ(taken.error().field, "batch 2");
  append(*from, epoch, 1, 1);  // and went on from there
  append(*from, epoch, 1, 1);
  taken = take(page());
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, "log_differs");
  EXPECT_TRUE(to->verify().ok());
}

TEST_F(Logs, ACopyBeginsWithASnapshotWhereOldRecordsAreGone) {
  for (int i = 0; i < 6; ++i) append(*from, epoch, 1, 1);
  const Snapshot snapshot{from->head(), 7, std::string(300, 's')};
  ASSERT_TRUE(from->put_snapshot(snapshot).ok());
  append(*from, epoch, 1, 1);
  ASSERT_TRUE(from->forget_before(snapshot.head.seq, {}).ok());
  EXPECT_EQ(from->page(Seq{}, Epoch{}, 1).error().code, "records_forgotten");
  std::string bytes;
  for (std::uint64_t at = 0; at < 300; at = bytes.size()) {
    bytes += decode_snapshot_piece(*from->snapshot_piece(Seq{}, at, 128))->bytes;
  }
  EXPECT_EQ(bytes, snapshot.bytes);
  EXPECT_EQ(from->snapshot_piece(Seq{3}, 0, 9).error().code, "snapshot_gone");
  auto first = decode_page(*from->page(Seq{snapshot.head.seq.value - 1}, Epoch{}, 1));
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(take(*first, &snapshot).ok());
  ASSERT_TRUE(take(page()).ok());
  EXPECT_EQ(to->head().chain_sha256, from->head().chain_sha256);
  EXPECT_EQ((*to->latest_snapshot())->bytes, snapshot.bytes);
  to.reset();
  to = open(to_directory.path());
  EXPECT_TRUE(to->verify().ok());
  EXPECT_EQ(to->forgotten_through()->value, 10u);
}

}  // namespace
}  // namespace dove::store
