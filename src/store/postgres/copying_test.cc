// A log in PostgreSQL as others copy it: page by page, and as of one instant.
#include "store/log_store_conformance.h"
#include "store/postgres/log_view.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/server_for_test.h"
#include "store/sqlite/new_log_file.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::store {
namespace {

struct Copies : testing::Test {
  std::string folder = (std::filesystem::temp_directory_path() / "dove-store-XXXXXX").string();
  const std::string url = PostgresServer::instance().new_database();
  std::unique_ptr<PostgresStore> from = open_from();
  Epoch epoch = *from->begin_epoch("a");

  Copies() { EXPECT_NE(::mkdtemp(folder.data()), nullptr); }
  ~Copies() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<PostgresStore> open_from() const {
    auto store = PostgresStore::open({url, "http://a"});
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store).value() : nullptr;
  }
  void add(int events, int decisions, const std::string& script = "") {
    Batch next = batch_after(from->head(), epoch, events, decisions);
    if (!script.empty()) next.blobs = {{hex_of(Chain().of(script)), script}};
    const Result<void> added = from->append(epoch, from->head().seq, next);
    ASSERT_TRUE(added.ok()) << added.error().message;
  }
  // Snapshots of the head and of what comes after it, and nothing left of what came before.
  void cut() {
    ASSERT_TRUE(from->put_snapshot({from->head(), 7, "older"}).ok());
    add(2, 1);
    ASSERT_TRUE(from->put_snapshot({from->head(), 8, std::string(300, 's')}).ok());
    ASSERT_TRUE(from->forget_before(from->head().seq, {}).ok());
    add(1, 1);
  }
  template <class From, class To>
  Result<void> take_all(From& source, To& to, Seq after, int* pages = nullptr) const {
    for (Epoch term;;) {
      TRY_ASSIGN(const std::string bytes, source.page(after, term, 1));
      TRY_ASSIGN(const LogPage page, decode_page(bytes));
      TRY(verified_batches(page));
      TRY(to.take(page));
      if (!page.terms.empty()) term = page.terms.back().epoch;
      if (page.batches.empty()) return {};
      if (pages != nullptr) ++*pages;
      after = last_seq(page.batches.back().header);
    }
  }
  std::unique_ptr<SqliteStore> copy() const {
    auto store = SqliteStore::open(folder, OpenMode::kReadOnly);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store).value() : nullptr;
  }
};

TEST_F(Copies, PageByPageItIsTheSameLog) {
  for (int i = 0; i < 5; ++i) add(2, 1);
  epoch = *from->begin_epoch("a again");
  add(1, 0);
  auto file = NewLogFile::begin(folder);
  ASSERT_TRUE(file.ok()) << file.error().message;
  int pages = 0;
  const Result<void> taken = take_all(*from, **file, Seq{}, &pages);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_EQ(pages, 6) << "one batch at least";
  ASSERT_TRUE((*file)->commit().ok());
  file->reset();
  EXPECT_EQ(copy()->head().chain_sha256, from->head().chain_sha256);
  EXPECT_TRUE(copy()->verify().ok());

  const auto all = decode_page(*from->page(Seq{}, Epoch{}, 1 << 20));
  EXPECT_EQ(all->batches.size(), 6u);
  EXPECT_EQ(all->terms.size(), 2u);
  EXPECT_EQ(all->head, from->head().seq);
  const auto middle = decode_page(*from->page(Seq{4}, epoch, 1));
  EXPECT_EQ(middle->before.seq, Seq{3}) << "the batch that has the next record";
  EXPECT_EQ(middle->batches.size(), 1u);
  EXPECT_TRUE(middle->terms.empty());
  const auto end = decode_page(*from->page(from->head().seq, epoch, 1));
  EXPECT_TRUE(end->batches.empty());
  EXPECT_EQ(hex_of(end->before.chain), from->head().chain_sha256);
}

TEST_F(Copies, WhatIsLargeComesBatchByBatch) {
  add(300, 0);
  add(1, 0);
  const auto page = decode_page(*from->page(Seq{}, Epoch{}, 100));
  ASSERT_EQ(page->batches.size(), 1u);
  EXPECT_EQ(page->batches[0].records.size(), 300u);
  EXPECT_TRUE(verified_batches(*page).ok());
}

TEST_F(Copies, WhereOldRecordsAreGoneItBeginsWithASnapshot) {
  for (int i = 0; i < 3; ++i) add(1, 1);
  cut();
  EXPECT_EQ(from->page(Seq{}, Epoch{}, 1).error().code, "records_forgotten");
  std::string bytes;
  SnapshotPiece piece;
  do {
    piece = *decode_snapshot_piece(*from->snapshot_piece(Seq{}, bytes.size(), 128));
    bytes += piece.bytes;
  } while (bytes.size() < piece.bytes_total);
  EXPECT_EQ(bytes, std::string(300, 's'));
  EXPECT_EQ(piece.state_hash, 8u);
  EXPECT_EQ(sha256_from(piece.sha256), Chain().of(bytes));
  EXPECT_EQ(from->snapshot_piece(Seq{1}, 0, 9).error().code, "snapshot_gone");
  EXPECT_EQ(decode_snapshot_piece(*from->snapshot_piece(Seq{}, INT64_MAX - 1, 9))->bytes, "");
  const auto first = decode_page(*from->page(Seq{piece.head.seq.value - 1}, Epoch{}, 1));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(hex_of(sha256_from(first->batches[0].chain)), piece.head.chain_sha256);
}

TEST_F(Copies, AViewIsOfOneInstantWhileTheLogGoesOn) {
  for (int i = 0; i < 3; ++i) add(1, 1);
  add(1, 0, "kept with the first records");
  cut();
  add(1, 0, "a script");
  const Head then = from->head();
  auto view = LogView::open(url);
  ASSERT_TRUE(view.ok()) << view.error().message;
  const Seq begin = *(*view)->forgotten_through();
  add(2, 2, "a later one");
  ASSERT_TRUE(from->put_snapshot({from->head(), 9, "newer"}).ok());
  ASSERT_TRUE(from->forget_before(from->head().seq, {}).ok()) << "nobody waits for the view";
  ASSERT_TRUE(*from->renew());

  auto file = NewLogFile::begin(folder);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Result<void> taken = take_all(**view, **file, begin);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  ASSERT_TRUE(
      (*view)->each_snapshot([&](const Snapshot& s) { return (*file)->take_snapshot(s); }).ok());
  int blobs = 0;
  ASSERT_TRUE((*view)
                  ->each_blob([&](std::string_view sha256, Seq seq, std::string_view bytes) {
                    ++blobs;
                    return (*file)->take_blob(sha256, seq, bytes);
                  })
                  .ok());
  ASSERT_TRUE((*file)->commit().ok());
  file->reset();
  EXPECT_EQ(blobs, 1);
  const auto made = copy();
  EXPECT_EQ(made->head().seq, then.seq);
  EXPECT_EQ(made->head().chain_sha256, then.chain_sha256);
  EXPECT_EQ(*made->forgotten_through(), begin);
  EXPECT_EQ((*made->latest_snapshot())->bytes, std::string(300, 's'));
  EXPECT_EQ(made->blob(hex_of(Chain().of("a script")))->value_or(""), "a script");
  EXPECT_TRUE(made->verify().ok());
  EXPECT_TRUE(made->damages()->empty());
}

TEST_F(Copies, BlobsComeInSeveralTurns) {
  for (int i = 0; i < 600; i += 100) {
    Batch next = batch_after(from->head(), epoch, 1, 0);
    for (int j = i; j < i + 100; ++j) {
      const std::string script = "script " + std::to_string(j);
      next.blobs.emplace_back(hex_of(Chain().of(script)), script);
    }
    ASSERT_TRUE(from->append(epoch, from->head().seq, next).ok());
  }
  auto view = LogView::open(url);
  int blobs = 0;
  std::string last;
  ASSERT_TRUE((*view)
                  ->each_blob([&](std::string_view sha256, Seq, std::string_view bytes) {
                    EXPECT_LT(last, sha256);
                    last = sha256;
                    EXPECT_EQ(hex_of(Chain().of(bytes)), sha256);
                    ++blobs;
                    return Result<void>();
                  })
                  .ok());
  EXPECT_EQ(blobs, 600);
}

TEST_F(Copies, ADatabaseThatEndsEndsIt) {
  add(1, 0);
  auto view = LogView::open(url);
  ASSERT_TRUE(view.ok());
  Connection line = std::move(Connection::open({url, "test", std::chrono::seconds(30)})).value();
  ASSERT_TRUE(line.run("SELECT pg_terminate_backend(pid)::int::bigint FROM pg_stat_activity WHERE "
                       "application_name = 'dove backup' AND datname = current_database()")
                  .ok());
  const auto page = (*view)->page(Seq{}, Epoch{}, 1);
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.error().kind, ErrorKind::kUnavailable) << page.error().message;
}

TEST_F(Copies, ANewFileTakesEachRowOnceWhereThereIsNone) {
  add(1, 0);
  auto file = NewLogFile::begin(folder);
  ASSERT_TRUE(take_all(*from, **file, Seq{}).ok());
  EXPECT_EQ(take_all(*from, **file, Seq{}).error().code, "log_differs");
  EXPECT_EQ(NewLogFile::begin(folder).error().code, "file_unwritable");
}

}  // namespace
}  // namespace dove::store
