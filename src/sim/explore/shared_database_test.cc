#include "sim/explore/shared_database.h"

#include <gtest/gtest.h>

#include <memory>

#include "store/log_store_conformance.h"
#include "store/memory/memory_store.h"

namespace dove::store {
namespace {

class SharedHarness {
 public:
  SharedHarness() { reopen(); }
  LogStore& log() { return *log_; }
  LogKeeper& keeper() { return *log_; }
  // Another process, once the lease of the one before is given back.
  void reopen() {
    if (log_ != nullptr) log_->release();
    log_ = std::make_unique<sim::SharedLog>(database_, cut_, "one", "http://one");
  }
  void set_full(bool full) { records_.set_full(full); }

 private:
  sim::Agenda agenda_;
  MemoryStore records_;
  sim::SharedDatabase database_{agenda_, records_, records_, 1'500'000, 1};
  bool cut_ = false;
  std::unique_ptr<sim::SharedLog> log_;
};

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Shared, LogStoreConformance, SharedHarness);

}  // namespace dove::store

namespace dove::sim {
namespace {

constexpr std::int64_t kLease_us = 1'500'000;
using Fault = SharedDatabase::Fault;

class SharedDatabaseTest : public ::testing::Test {
 protected:
  SharedDatabaseTest() {
    database_.on_durable([this](const store::Batch&, bool) { ++durable_; });
  }
  void pass(std::int64_t us) {
    bool there = false;
    agenda_.in(us, [&there] { there = true; });
    while (!there) agenda_.step();
  }
  Result<void> append(SharedLog& by) {
    return by.append(by.epoch(), by.head().seq, store::batch_after(by.head(), by.epoch(), 1, 0));
  }

  Agenda agenda_;
  store::MemoryStore records_;
  SharedDatabase database_{agenda_, records_, records_, kLease_us, 1};
  bool cut_ = false;
  bool never_ = false;
  SharedLog one_{database_, cut_, "one", "http://one"};
  SharedLog two_{database_, never_, "two", "http://two"};
  int durable_ = 0;
};

TEST_F(SharedDatabaseTest, ATermBeginsWhenTheLeaseIsOver) {
  ASSERT_TRUE(one_.begin_epoch("one").ok());
  EXPECT_EQ(two_.begin_epoch("two").error().code, "lease_held");
  EXPECT_EQ(two_.leader()->left_us, kLease_us);
  pass(kLease_us - 1);
  EXPECT_TRUE(*one_.renew());
  pass(kLease_us - 1);
  EXPECT_EQ(two_.begin_epoch("two").error().code, "lease_held");
  pass(1);
  ASSERT_TRUE(two_.begin_epoch("two").ok());
  EXPECT_FALSE(*one_.renew());
  EXPECT_EQ(append(one_).error().code, "epoch_stale");
  EXPECT_TRUE(append(two_).ok());
  EXPECT_EQ(durable_, 1);
}

TEST_F(SharedDatabaseTest, ALeaseIsGivenToOneOfThem) {
  bool reached = true;
  SharedLog three(database_, never_, "three", "http://three");
  ASSERT_TRUE(one_.begin_epoch("one").ok());
  ASSERT_TRUE(two_.stands_by(Seq{7}, "").ok());
  EXPECT_EQ(one_.standbys()->front().folded, Seq{7});
  two_.on_news([&reached] { reached = true; });
  reached = false;
  one_.release("two");
  EXPECT_TRUE(reached);
  EXPECT_EQ(three.begin_epoch("three").error().code, "lease_held");
  EXPECT_TRUE(two_.begin_epoch("two").ok());
}

TEST_F(SharedDatabaseTest, WhoeverIsCutOffCannotWriteAndTheOthersCan) {
  ASSERT_TRUE(one_.begin_epoch("one").ok());
  cut_ = true;
  EXPECT_EQ(append(one_).error().code, "commit_unknown");
  EXPECT_FALSE(one_.renew().ok());
  EXPECT_TRUE(two_.leader().ok());
  pass(kLease_us);
  EXPECT_TRUE(two_.begin_epoch("two").ok());
  EXPECT_EQ(durable_, 0);
}

TEST_F(SharedDatabaseTest, AnAppendWithoutAnAnswerHappensOrNotOrLater) {
  ASSERT_TRUE(one_.begin_epoch("one").ok());
  database_.next_append(Fault::kNotDone);
  EXPECT_EQ(append(one_).error().code, "commit_unknown");
  EXPECT_EQ(durable_, 0);
  database_.next_append(Fault::kDoneLater);
  EXPECT_EQ(append(one_).error().code, "commit_unknown");
  EXPECT_EQ(durable_, 0);
  pass(10'000'000);
  EXPECT_EQ(durable_, 1);
  EXPECT_EQ(append(one_).error().code, "head_moved");
  ASSERT_TRUE(one_.begin_epoch("one").ok());
  database_.next_append(Fault::kDone);
  EXPECT_EQ(append(one_).error().code, "commit_unknown");
  EXPECT_EQ(durable_, 2);
}

// Whether it is settled before or after a term begins, it is never behind that.
TEST_F(SharedDatabaseTest, WhatIsUnderWayIsSettledBeforeTheNextTerm) {
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(one_.begin_epoch("one").ok());
    database_.next_append(Fault::kDoneLater);
    EXPECT_FALSE(append(one_).ok());
    one_.release();
    ASSERT_TRUE(two_.begin_epoch("two").ok());
    const int before = durable_;
    pass(10'000'000);
    EXPECT_EQ(durable_, before);
    EXPECT_TRUE(append(two_).ok());
    two_.release();
  }
}

TEST_F(SharedDatabaseTest, AFailoverLosesConnectionsAndNothingElse) {
  ASSERT_TRUE(one_.begin_epoch("one").ok());
  ASSERT_TRUE(append(one_).ok());
  database_.set_away(true);
  EXPECT_FALSE(two_.leader().ok());
  database_.fail_over();
  database_.set_away(false);
  EXPECT_EQ(append(one_).error().code, "commit_unknown");
  EXPECT_EQ(two_.leader()->head, Seq{1});
  EXPECT_TRUE(*one_.renew());
}

}  // namespace
}  // namespace dove::sim
