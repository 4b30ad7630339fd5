// A disk that cannot write what it was given: what was not synced is not acknowledged, and what is
// read afterwards is whole.
#include "store/sqlite/bed_for_test.h"
#include "store/sqlite/failing_sync_for_test.h"

namespace dove::store {
namespace {

class SyncFailure : public testing::Test {
 protected:
  ~SyncFailure() override { FailingSync::instance().end(); }
  static Result<void> append_one(SqliteStore& store, Epoch epoch) {
    return store.append(epoch, store.head().seq, batch_after(store.head(), epoch, 2, 1));
  }
  static std::size_t batches_in(SqliteStore& store) {
    std::size_t count = 0;
    const auto read = store.read(Seq{}, [&](const Batch&) { return ++count > 0; });
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
    return count;
  }
  // What whoever starts next finds: the files as the system has them now.
  std::string copy_now(const std::string& name) {
    const std::string to = fs::path(directory.path()).parent_path() / name;
    fs::copy(directory.path(), to);
    return to;
  }

  Directory directory;
  FailingSync& disk = FailingSync::instance();
};

TEST_F(SyncFailure, AnAppendThatWasNotSyncedIsAnErrorAndNotThere) {
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  ASSERT_TRUE(append_one(*store, epoch).ok());
  const Head before = store->head();
  const std::string lost = copy_now("lost");  // what a power cut would leave
  disk.begin("log.sqlite-wal", EIO);
  const Result<void> failed = append_one(*store, epoch);
  EXPECT_EQ(disk.end(), 1);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::kUnavailable) << "the term ends";
  EXPECT_EQ(failed.error().code, "commit_unknown");
  EXPECT_NE(failed.error().message.find("log.sqlite: disk I/O error (Input/output error); check "
                                        "the disk"),
            std::string::npos)
      << failed.error().message;
  EXPECT_EQ(store->head().seq, before.seq);
  EXPECT_EQ(batches_in(*store), 1U);

  // The system may still have in its memory what it could not write: then it is there as a whole.
  auto after = open(copy_now("after"));
  ASSERT_NE(after, nullptr);
  EXPECT_TRUE(after->verify().ok());
  EXPECT_GE(after->head().batch.value, 1U);
  EXPECT_LE(after->head().batch.value, 2U);
  EXPECT_TRUE(append_one(*after, *after->begin_epoch("next")).ok());
  after = open(lost);
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->head().chain_sha256, before.chain_sha256);
}

TEST_F(SyncFailure, WhatCannotBeWrittenAgainKeepsTheStoreClosed) {
  {
    auto store = open(directory.path());
    ASSERT_TRUE(append_one(*store, *store->begin_epoch("test")).ok());
    fs::copy(directory.path(), fs::path(directory.path()).parent_path() / "killed");
  }
  const std::string killed = fs::path(directory.path()).parent_path() / "killed";
  for (const char* file : {"killed/log.sqlite-wal", "killed/log.sqlite"}) {
    disk.begin(file, EIO);
    const auto opened = SqliteStore::open(killed, OpenMode::kWrite);
    EXPECT_GT(disk.end(), 0) << file;
    ASSERT_FALSE(opened.ok()) << file;
    EXPECT_EQ(opened.error().code, "store_failed");
    EXPECT_NE(opened.error().message.find("then start again"), std::string::npos);
  }
  auto store = open(killed);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(batches_in(*store), 1U);
}

TEST_F(SyncFailure, TermsAndSnapshotsThatWereNotSyncedAreErrors) {
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  ASSERT_TRUE(append_one(*store, epoch).ok());
  disk.begin("log.sqlite-wal", EIO);
  EXPECT_EQ(store->put_snapshot({store->head(), 7, "state"}).error().code, "store_failed");
  EXPECT_EQ(store->begin_epoch("next").error().code, "store_failed");
  EXPECT_EQ(disk.end(), 2);
  EXPECT_FALSE(store->latest_snapshot()->has_value());
  EXPECT_TRUE(append_one(*store, epoch).ok()) << "no other term has begun";
}

// Checkpoints are nobody's answer: the log's tail holds all until one succeeds.
TEST_F(SyncFailure, ACheckpointThatFailsLosesNothing) {
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  disk.begin("/log.sqlite", EIO);
  for (int i = 0; disk.failed == 0 && i < 3'000; ++i) {
    const auto done =
        store->append(epoch, store->head().seq, batch_after(store->head(), epoch, 40, 0));
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  EXPECT_GT(disk.failed, 0) << "a checkpoint came";
  ASSERT_TRUE(append_one(*store, epoch).ok());
  const std::string copy = copy_now("killed");
  EXPECT_FALSE(SqliteStore::open(copy, OpenMode::kWrite).ok()) << "not on such a disk";
  disk.end();
  auto killed = open(copy);
  ASSERT_NE(killed, nullptr);
  EXPECT_EQ(killed->head().chain_sha256, store->head().chain_sha256);
  EXPECT_TRUE(killed->verify().ok());
}

}  // namespace
}  // namespace dove::store
