// What every LogStore and LogKeeper must do, as a typed test suite.
//
// A test program defines a harness, default-constructible, with
//   LogStore& log();  LogKeeper& keeper();  void reopen();  void set_full(bool full);
// (reopen() does nothing for a store without durability), and instantiates:
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, LogStoreConformance, MyHarness);
// Include only from *_test.cc files.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "store/log_store.h"

namespace dove::store {

// A batch that continues `head`: one JobHeld and one Start per `records`, numbered by their seq.
inline Batch batch_after(const Head& head, Epoch epoch, int events, int decisions) {
  Batch batch;
  batch.number = BatchNumber{head.batch.value + 1};
  batch.epoch = epoch;
  batch.at = Instant{head.at.us + 1000};
  batch.first_seq = Seq{head.seq.value + 1};
  std::uint64_t seq = batch.first_seq.value;
  for (int i = 0; i < events; ++i) {
    Cause cause;
    cause.principal = "ada";
    batch.events.push_back({JobHeld{JobId{seq++}}, cause});
  }
  for (int i = 0; i < decisions; ++i) batch.decisions.push_back(Start{JobId{seq++}, 1});
  batch.decisions_digest = ~std::uint64_t{0} - batch.number.value;
  if (batch.number.value % 2 == 0) batch.state_hash = ~batch.number.value;
  return batch;
}

inline void expect_same(const Batch& got, const Batch& want) {
  EXPECT_EQ(got.number, want.number);
  EXPECT_EQ(got.epoch, want.epoch);
  EXPECT_EQ(got.at, want.at);
  EXPECT_EQ(got.first_seq, want.first_seq);
  ASSERT_EQ(got.events.size(), want.events.size());
  for (std::size_t i = 0; i < got.events.size(); ++i) {
    EXPECT_EQ(got.events[i].event, want.events[i].event);
    EXPECT_EQ(got.events[i].cause, want.events[i].cause);
  }
  EXPECT_EQ(got.decisions, want.decisions);
  EXPECT_EQ(got.decisions_digest, want.decisions_digest);
  EXPECT_EQ(got.state_hash, want.state_hash);
}

template <class Harness>
class LogStoreConformance : public testing::Test {
 protected:
  LogStore& log() { return harness_.log(); }
  LogKeeper& keeper() { return harness_.keeper(); }

  Epoch begin() {
    auto epoch = keeper().begin_epoch("test");
    EXPECT_TRUE(epoch.ok());
    return epoch.ok() ? *epoch : Epoch{};
  }
  Batch append(Epoch epoch, int events, int decisions) {
    const Batch batch = batch_after(log().head(), epoch, events, decisions);
    auto done = log().append(epoch, log().head().seq, batch);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return batch;
  }
  std::vector<Batch> read(Seq after) {
    std::vector<Batch> batches;
    auto done = log().read(after, [&](const Batch& batch) {
      batches.push_back(batch);
      return true;
    });
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return batches;
  }
  void put_snapshot(std::string bytes) {
    Snapshot snapshot{log().head(), 7, std::move(bytes)};
    auto done = keeper().put_snapshot(snapshot);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  }

  Harness harness_;
};

TYPED_TEST_SUITE_P(LogStoreConformance);

TYPED_TEST_P(LogStoreConformance, AnEmptyLogHasNoHead) {
  EXPECT_FALSE(this->log().head().seq);
  EXPECT_TRUE(this->read(Seq{}).empty());
  EXPECT_FALSE(this->log().blob("00")->has_value());
  EXPECT_FALSE(this->keeper().latest_snapshot()->has_value());
}

TYPED_TEST_P(LogStoreConformance, WhatWasAppendedIsReadBack) {
  const Epoch epoch = this->begin();
  std::vector<Batch> appended;
  for (int i = 0; i < 5; ++i) appended.push_back(this->append(epoch, i % 3 + 1, i % 2));
  this->harness_.reopen();
  const auto batches = this->read(Seq{});
  ASSERT_EQ(batches.size(), appended.size());
  for (std::size_t i = 0; i < batches.size(); ++i) expect_same(batches[i], appended[i]);
  const Head head = this->log().head();
  EXPECT_EQ(head.batch.value, 5u);
  EXPECT_EQ(head.epoch, epoch);
  EXPECT_EQ(head.at, appended.back().at);
  EXPECT_EQ(head.seq.value, 1u + 3 + 3 + 2 + 2);
}

TYPED_TEST_P(LogStoreConformance, ReadingBeginsWithTheBatchThatEndsLater) {
  const Epoch epoch = this->begin();
  this->append(epoch, 2, 0);  // 1, 2
  this->append(epoch, 2, 1);  // 3, 4, 5
  this->append(epoch, 1, 0);  // 6
  EXPECT_EQ(this->read(Seq{2}).size(), 2u);
  EXPECT_EQ(this->read(Seq{3}).size(), 2u);
  EXPECT_EQ(this->read(Seq{5}).size(), 1u);
  EXPECT_TRUE(this->read(Seq{6}).empty());
  EXPECT_TRUE(this->read(Seq{100}).empty());
}

TYPED_TEST_P(LogStoreConformance, AVisitorStopsAndMayAppend) {
  const Epoch epoch = this->begin();
  for (int i = 0; i < 3; ++i) this->append(epoch, 1, 0);
  int seen = 0;
  auto done = this->log().read(Seq{}, [&](const Batch&) {
    this->append(epoch, 1, 0);
    return ++seen < 2;
  });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(this->log().head().seq.value, 5u);
}

TYPED_TEST_P(LogStoreConformance, OnlyTheNewestEpochMayAppend) {
  const Epoch old_epoch = this->begin();
  this->append(old_epoch, 1, 0);
  const Epoch epoch = this->begin();
  EXPECT_GT(epoch, old_epoch);
  const Batch late = batch_after(this->log().head(), old_epoch, 1, 0);
  auto refused = this->log().append(old_epoch, this->log().head().seq, late);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(refused.error().code, "epoch_stale");
  this->append(epoch, 1, 0);
  this->harness_.reopen();
  EXPECT_GT(this->begin(), epoch);
}

TYPED_TEST_P(LogStoreConformance, AnotherHeadIsRefused) {
  const Epoch epoch = this->begin();
  this->append(epoch, 1, 0);
  const Batch batch = batch_after(Head{}, epoch, 1, 0);
  auto refused = this->log().append(epoch, Seq{}, batch);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "head_moved");
  EXPECT_EQ(this->read(Seq{}).size(), 1u);
}

TYPED_TEST_P(LogStoreConformance, AFullDiskStoresNothingAndLosesNothing) {
  const Epoch epoch = this->begin();
  const Batch first = this->append(epoch, 2, 1);
  this->harness_.set_full(true);
  Batch large = batch_after(this->log().head(), epoch, 500, 500);
  large.blobs.emplace_back(std::string(64, '0'), std::string(2'000'000, 'x'));
  auto refused = this->log().append(epoch, this->log().head().seq, large);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(refused.error().code, "disk_full");
  EXPECT_EQ(this->log().head().seq.value, 3u);
  EXPECT_EQ(this->read(Seq{}).size(), 1u);
  EXPECT_FALSE(this->log().blob(std::string(64, '0'))->has_value());
  this->harness_.set_full(false);
  const Batch second = this->append(epoch, 1, 1);
  this->harness_.reopen();
  const auto batches = this->read(Seq{});
  ASSERT_EQ(batches.size(), 2u);
  expect_same(batches[0], first);
  expect_same(batches[1], second);
}

TYPED_TEST_P(LogStoreConformance, BlobsComeWithTheirBatch) {
  // SHA-256 of "hello" and of nothing.
  const std::string hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const std::string nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const Epoch epoch = this->begin();
  for (int round = 0; round < 2; ++round) {  // known ones may come again
    Batch batch = batch_after(this->log().head(), epoch, 1, 0);
    batch.blobs = {{hello, "hello"}, {nothing, ""}};
    ASSERT_TRUE(this->log().append(epoch, this->log().head().seq, batch).ok());
  }
  this->harness_.reopen();
  EXPECT_EQ(**this->log().blob(hello), "hello");
  EXPECT_EQ(**this->log().blob(nothing), "");
  EXPECT_FALSE(this->log().blob(std::string(64, '1'))->has_value());
}

TYPED_TEST_P(LogStoreConformance, TheNewestSnapshotIsGivenBack) {
  const Epoch epoch = this->begin();
  for (int i = 0; i < 3; ++i) {
    this->append(epoch, 1, 1);
    this->put_snapshot("state " + std::to_string(i));
  }
  this->harness_.reopen();
  auto snapshot = this->keeper().latest_snapshot();
  ASSERT_TRUE(snapshot.ok() && snapshot->has_value());
  EXPECT_EQ((*snapshot)->bytes, "state 2");
  EXPECT_EQ((*snapshot)->state_hash, 7u);
  EXPECT_EQ((*snapshot)->head.seq.value, 6u);
  EXPECT_EQ((*snapshot)->head.epoch, epoch);
  EXPECT_EQ((*snapshot)->head.chain_sha256, this->log().head().chain_sha256);
  Snapshot ahead{this->log().head(), 7, "x"};
  ahead.head.seq = Seq{100};
  EXPECT_EQ(this->keeper().put_snapshot(ahead).error().code, "snapshot_unknown_head");
}

TYPED_TEST_P(LogStoreConformance, RetentionDropsWhatASnapshotCovers) {
  const std::string hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const std::string nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const Epoch epoch = this->begin();
  Batch batch = batch_after(this->log().head(), epoch, 1, 1);
  batch.blobs = {{hello, "hello"}, {nothing, ""}};
  ASSERT_TRUE(this->log().append(epoch, Seq{}, batch).ok());
  for (int i = 0; i < 4; ++i) this->append(epoch, 1, 1);
  EXPECT_EQ(this->keeper().forget_before(Seq{5}, {}).error().code, "not_covered");
  this->put_snapshot("state");
  ASSERT_TRUE(this->keeper().forget_before(Seq{6}, {hello}).ok());
  this->harness_.reopen();
  auto refused = this->log().read(Seq{}, [](const Batch&) { return true; });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "records_forgotten");
  EXPECT_EQ(this->read(Seq{4}).size(), 3u) << "the batch that holds record 6 stays whole";
  EXPECT_TRUE(this->log().blob(hello)->has_value());
  EXPECT_FALSE(this->log().blob(nothing)->has_value());
  this->append(this->begin(), 1, 0);
  EXPECT_EQ(this->read(Seq{10}).size(), 1u);
}

REGISTER_TYPED_TEST_SUITE_P(LogStoreConformance, AnEmptyLogHasNoHead, WhatWasAppendedIsReadBack,
                            ReadingBeginsWithTheBatchThatEndsLater, AVisitorStopsAndMayAppend,
                            OnlyTheNewestEpochMayAppend, AnotherHeadIsRefused,
                            AFullDiskStoresNothingAndLosesNothing, BlobsComeWithTheirBatch,
                            TheNewestSnapshotIsGivenBack, RetentionDropsWhatASnapshotCovers);

}  // namespace dove::store
