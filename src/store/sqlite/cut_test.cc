#include "store/sqlite/cut.h"

#include "model/incarnation.h"
#include "store/sqlite/bed_for_test.h"

namespace dove::store {
namespace {

constexpr std::int64_t kNow_s = 1'800'000'000;

Snapshot snapshot_of(const SqliteStore& store) {
  Snapshot snapshot;
  snapshot.head = store.head();
  snapshot.bytes = "state";
  return snapshot;
}

// Five batches of two records; a snapshot after the second and the fourth.
void fill(const std::string& path) {
  auto store = open(path);
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 1; i <= 5; ++i) {
    append(*store, epoch, 1, 1);
    if (i % 2 == 0) {
      ASSERT_TRUE(store->put_snapshot(snapshot_of(*store)).ok());
    }
  }
}

TEST(Cut, ALogEndsWithTheLastBatchBeforeThePoint) {
  Directory directory;
  fill(directory.path());
  const auto cut = cut_log(directory.path(), {std::nullopt, Seq{7}}, kNow_s);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut->head, Seq{6}) << "record 7 is the first of a batch";
  EXPECT_EQ(cut->dropped, 4u);
  EXPECT_FALSE(fs::exists(directory.path() + "/head"));
  auto store = open(directory.path());
  EXPECT_EQ(store->head().seq, Seq{6});
  EXPECT_TRUE(store->verify().ok());
  const auto snapshot = store->latest_snapshot();
  ASSERT_TRUE(snapshot.ok() && snapshot->has_value());
  EXPECT_EQ((*snapshot)->head.seq, Seq{4}) << "the one of record 8 is of what is gone";
  const Epoch epoch = *store->begin_epoch("next");
  EXPECT_EQ(restored_s(epoch), kNow_s);
  append(*store, epoch, 1, 0);
  EXPECT_EQ(store->head().seq, Seq{7});
}

TEST(Cut, ALogEndsAtAnInstant) {
  Directory directory;
  fill(directory.path());
  const Instant third = [&] {
    Instant at;
    auto store = open(directory.path());
    EXPECT_TRUE(store
                    ->read(Seq{4},
                           [&](const Batch& batch) {
                             at = batch.at;
                             return false;
                           })
                    .ok());
    return at;
  }();
  EXPECT_EQ(cut_log(directory.path(), {third, std::nullopt}, kNow_s)->head, Seq{6});
}

TEST(Cut, TwoIncarnationsOfOneLogNeverShareATerm) {
  Directory directory;
  fill(directory.path());
  std::set<std::uint64_t> terms;
  for (const std::int64_t now_s : {kNow_s, kNow_s, kNow_s - 500}) {
    ASSERT_TRUE(cut_log(directory.path(), {}, now_s).ok());
    const auto epoch = open(directory.path())->begin_epoch("test");
    EXPECT_TRUE(terms.insert(epoch->value).second);
    EXPECT_EQ(epoch->value, *terms.rbegin()) << "also when the clock went back";
  }
  EXPECT_LT(*terms.rbegin(), std::uint64_t{1} << 53);
}

TEST(Cut, WhatIsNotKeptCannotBeRestored) {
  Directory directory;
  fill(directory.path());
  {
    auto store = open(directory.path());
    ASSERT_TRUE(store->forget_before(Seq{3}, {}).ok());
  }
  const auto early = cut_log(directory.path(), {std::nullopt, Seq{3}}, kNow_s);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, "restore_too_early");
  EXPECT_NE(early.error().message.find("from record 4"), std::string::npos);
  EXPECT_EQ(open(directory.path())->head().seq, Seq{10}) << "nothing was changed";
  EXPECT_TRUE(cut_log(directory.path(), {std::nullopt, Seq{4}}, kNow_s).ok());
  EXPECT_FALSE(cut_log(directory.path(), {Instant{1}, std::nullopt}, kNow_s).ok());
}

TEST(Cut, ADirectoryThatIsInUseStaysAsItIs) {
  Directory directory;
  fill(directory.path());
  auto store = open(directory.path());
  EXPECT_EQ(cut_log(directory.path(), {}, kNow_s).error().code, "data_in_use");
}

}  // namespace
}  // namespace dove::store
