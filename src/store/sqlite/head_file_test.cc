#include "store/sqlite/head_file.h"

#include "store/chain/chain.h"
#include "store/sqlite/bed_for_test.h"
#include "store/sqlite/cut.h"

namespace dove::store {
namespace {

TEST(HeadFile, ACopyWithoutItsRestIsNoEmptyCluster) {
  Directory directory, copy;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 0; i < 5; ++i) append(*store, epoch, 1, 1);
  fs::create_directories(copy.path());
  fs::copy_file(directory.file(), copy.file());
  const auto alone = SqliteStore::open(copy.path(), OpenMode::kWrite);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code, "wal_missing");
  EXPECT_NE(alone.error().message.find("log.sqlite-wal"), std::string::npos);
  fs::copy_file(directory.path() + "/head", copy.path() + "/head");
  fs::remove(copy.path() + "/log.sqlite-wal");
  fs::remove(copy.file());
  fs::copy_file(directory.file(), copy.file());
  const auto shorter = SqliteStore::open(copy.path(), OpenMode::kWrite);
  ASSERT_FALSE(shorter.ok());
  EXPECT_EQ(shorter.error().code, "log_behind");
  EXPECT_NE(shorter.error().message.find("record 10"), std::string::npos);
  fs::remove_all(copy.path());
  fs::copy(directory.path(), copy.path());
  EXPECT_EQ(open(copy.path())->head().seq.value, 10u) << "all of it";
}

TEST(HeadFile, WhatItSaysToDoIsEnough) {
  Directory directory, copy;
  {
    auto store = open(directory.path());
    append(*store, *store->begin_epoch("test"), 1, 1);
  }
  fs::create_directories(copy.path());
  fs::copy_file(directory.file(), copy.file());
  {
    auto store = open(directory.path());
    append(*store, *store->begin_epoch("test"), 1, 1);
  }
  fs::copy_file(directory.path() + "/head", copy.path() + "/head");
  const auto shorter = SqliteStore::open(copy.path(), OpenMode::kWrite);
  ASSERT_FALSE(shorter.ok());
  EXPECT_EQ(shorter.error().code, "log_behind");
  EXPECT_NE(shorter.error().message.find("dove restore --in-place"), std::string::npos);
  const auto cut = cut_log(copy.path(), {}, 1'900'000'000);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_TRUE(SqliteStore::open(copy.path(), OpenMode::kWrite).ok());
}

TEST(HeadFile, ALogThatWasClosedInOrderIsOneFile) {
  Directory directory, copy;
  {
    auto store = open(directory.path());
    append(*store, *store->begin_epoch("test"), 1, 1);
  }
  fs::create_directories(copy.path());
  fs::copy_file(directory.file(), copy.file());
  EXPECT_EQ(open(copy.path())->head().seq.value, 2u);
  fs::remove(directory.file());
  EXPECT_EQ(SqliteStore::open(directory.path(), OpenMode::kWrite).error().code, "log_behind");
  // What a person's sqlite3 left behind a crash is whole, too.
  Directory crashed;
  {
    auto store = open(crashed.path());
    append(*store, *store->begin_epoch("test"), 1, 1);
  }
  tamper(crashed.file(), "UPDATE meta SET value = 1 WHERE key = 'in_use'");
  EXPECT_EQ(open(crashed.path())->head().seq.value, 2u);
}

TEST(HeadFile, ALogOfANewerProgramIsNotCalledCorrupt) {
  Directory directory;
  {
    auto store = open(directory.path());
    append(*store, *store->begin_epoch("test"), 1, 0);
  }
  // As a program would write it that knows a kind 99.
  const std::string body("\x63\x01\x00", 3);
  const Batch batch = batch_after(Head{}, Epoch{1}, 1, 0);
  Chain hasher;
  Sha256 chain = hasher.link(Sha256{}, {1, 1, batch.at.us, 1, 1, 0, batch.decisions_digest, {}});
  chain = hasher.link(chain, 1, false, body);
  tamper(directory.file(), "UPDATE records SET body = x'630100', chain = x'" + hex_of(chain) +
                               "'; UPDATE batches SET chain = x'" + hex_of(chain) + "'");
  const auto store = SqliteStore::open(directory.path(), OpenMode::kWrite);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, "record_newer") << store.error().message;
  EXPECT_EQ(store.error().message.find("restore"), std::string::npos);
}

}  // namespace
}  // namespace dove::store
