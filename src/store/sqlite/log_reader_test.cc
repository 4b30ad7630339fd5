// What is appended, dropped and changed while a log is read.
#include <gtest/gtest.h>

#include <filesystem>

#include "store/sqlite/bed_for_test.h"

namespace dove::store {
namespace {

void forget(SqliteStore& store, Seq before) {
  const Result<void> done = store.forget_before(before, {});
  EXPECT_TRUE(done.ok()) << done.error().message;
}

TEST(LogReader, ASlowReaderLetsTheWriteAheadLogBeEmptied) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 0; i < 300; ++i) append(*store, epoch, 1, 1);
  auto reader = SqliteStore::open(directory.path(), OpenMode::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  int seen = 0;
  const auto done = (*reader)->read(Seq{}, [&](const Batch&) {
    if (++seen % 100 != 1) return true;
    append(*store, epoch, 1, 0);
    tamper(directory.file(), "PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_EQ(fs::file_size(directory.file() + "-wal"), 0u);
    return true;
  });
  EXPECT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(seen, 300) << "what was there when it began";
}

TEST(LogReader, WhatChangesBehindAReaderIsFound) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 0; i < 300; ++i) append(*store, epoch, 1, 1);
  int seen = 0;
  // The link where the first slice ended, and all others: the rest is sound in itself.
  auto changed = store->read(Seq{}, [&](const Batch&) {
    if (++seen == 1) tamper(directory.file(), "UPDATE batches SET chain = zeroblob(32)");
    return true;
  });
  EXPECT_EQ(changed.error().code, "log_corrupt");
  EXPECT_NE(changed.error().message.find("while the log was read"), std::string::npos);
  EXPECT_LT(seen, 300);
}

// 16 records of 1 MiB are fewer than a slice may have.
TEST(LogReader, ASliceOfLargeRecordsIsShort) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 0; i < 16; ++i) {
    Batch batch = batch_after(store->head(), epoch, 1, 0);
    batch.events[0].cause.principal = std::string(1 << 20, 'a');
    ASSERT_TRUE(store->append(epoch, store->head().seq, batch).ok());
  }
  int seen = 0;
  const auto changed = store->read(Seq{}, [&](const Batch&) {
    if (++seen == 1) tamper(directory.file(), "UPDATE batches SET chain = zeroblob(32)");
    return true;
  });
  ASSERT_FALSE(changed.ok()) << seen;
  EXPECT_EQ(changed.error().code, "log_corrupt");
  EXPECT_EQ(seen, 8);
}

TEST(LogReader, AReaderThatRetentionOvertakesSaysSo) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 0; i < 300; ++i) append(*store, epoch, 1, 1);
  ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
  int seen = 0;
  const auto done = store->read(Seq{}, [&](const Batch&) {
    if (++seen == 1) forget(*store, Seq{501});
    return true;
  });
  EXPECT_EQ(done.error().code, "records_forgotten");
  EXPECT_NE(done.error().message.find("up to 500 "), std::string::npos) << done.error().message;
  // What is read already may go.
  seen = 0;
  const auto rest = store->read(Seq{590}, [&](const Batch&) {
    if (++seen == 5) forget(*store, Seq{600});
    return true;
  });
  EXPECT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(seen, 5);
  EXPECT_TRUE(store->verify().ok());
}

}  // namespace
}  // namespace dove::store
