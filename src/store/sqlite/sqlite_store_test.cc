#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/random.h"
#include "codec/record_samples.h"
#include "store/log_store_conformance.h"
#include "store/sqlite/bed_for_test.h"

namespace dove::store {
namespace {

class SqliteHarness {
 public:
  SqliteHarness() { reopen(); }
  LogStore& log() { return *store_; }
  LogKeeper& keeper() { return *store_; }
  void reopen() { reopen_with({}); }
  void set_full(bool full) {
    reopen_with(full ? SqliteOptions{.size_max_bytes = 120'000} : SqliteOptions{});
  }

 private:
  void reopen_with(const SqliteOptions& options) {
    store_.reset();
    store_ = open(directory_.path(), options);
  }
  Directory directory_;
  std::unique_ptr<SqliteStore> store_;
};

TEST(SqliteStore, EveryKindOfRecordComesBack) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  Batch batch;
  batch.number = BatchNumber{1};
  batch.epoch = epoch;
  batch.at = Instant{5};
  batch.first_seq = Seq{1};
  batch.events = codec::sample_events();
  batch.decisions = codec::sample_decisions();
  ASSERT_TRUE(store->append(epoch, Seq{}, batch).ok());
  int batches = 0;
  ASSERT_TRUE(store
                  ->read(Seq{},
                         [&](const Batch& got) {
                           expect_same(got, batch);
                           return ++batches > 0;
                         })
                  .ok());
  EXPECT_EQ(batches, 1);
  EXPECT_TRUE(store->verify().ok());
  EXPECT_EQ(*store->chain_at(store->head().seq), store->head().chain_sha256);
  EXPECT_FALSE(store->chain_at(Seq{store->head().seq.value + 1})->has_value());
}

TEST(SqliteStore, FilesAreForTheirOwnerOnly) {
  Directory directory;
  auto store = open(directory.path());
  append(*store, *store->begin_epoch("test"), 1, 0);
  struct stat status {};
  ASSERT_EQ(::stat(directory.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  for (const char* name : {"/log.sqlite", "/log.sqlite-wal", "/lock"}) {
    ASSERT_EQ(::stat((directory.path() + name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
}

TEST(SqliteStore, ASecondServerIsToldWhoHoldsTheData) {
  Directory directory;
  auto store = open(directory.path());
  auto second = SqliteStore::open(directory.path(), OpenMode::kWrite);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, "data_in_use");
  EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos);
  EXPECT_NE(second.error().message.find("--data"), std::string::npos);
  store.reset();
  EXPECT_TRUE(SqliteStore::open(directory.path(), OpenMode::kWrite).ok());
}

TEST(SqliteStore, AReaderMayLookWhileAServerRuns) {
  Directory directory;
  EXPECT_EQ(SqliteStore::open(directory.path(), OpenMode::kReadOnly).error().code, "data_missing");
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  append(*store, epoch, 2, 2);
  auto reader = SqliteStore::open(directory.path(), OpenMode::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ((*reader)->head().seq.value, 4u);
  EXPECT_TRUE((*reader)->verify().ok());
  append(*store, epoch, 1, 0);
  EXPECT_EQ((*reader)->begin_epoch("x").error().code, "read_only");
  store.reset();
  auto later = SqliteStore::open(directory.path(), OpenMode::kReadOnly);
  ASSERT_TRUE(later.ok()) << later.error().message;
  EXPECT_EQ((*later)->head().seq.value, 5u);
}

TEST(SqliteStore, AnotherThreadReadsWhileOneAppends) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  append(*store, epoch, 1, 1);
  std::thread reading([&] {
    for (int i = 0; i < 50; ++i) {
      const Head head = store->head();
      std::uint64_t last = 0;
      auto done = store->read(Seq{}, [&](const Batch& batch) {
        last = batch.first_seq.value + batch.events.size() + batch.decisions.size() - 1;
        return true;
      });
      EXPECT_TRUE(done.ok());
      EXPECT_GE(last, head.seq.value);
    }
  });
  for (int i = 0; i < 100; ++i) append(*store, epoch, 1, 1);
  reading.join();
}

// -- damage --------------------------------------------------------------------------------------

struct Damage {
  const char* sql;
  const char* names;  // what the message must hold
};

class SqliteDamage : public testing::TestWithParam<Damage> {};

TEST_P(SqliteDamage, IsFoundAtOpenAndNamed) {
  Directory directory;
  {
    auto store = open(directory.path());
    const Epoch epoch = *store->begin_epoch("test");
    for (int i = 0; i < 5; ++i) append(*store, epoch, 1, 1);
  }
  tamper(directory.file(), GetParam().sql);
  auto store = SqliteStore::open(directory.path(), OpenMode::kWrite);
  ASSERT_FALSE(store.ok()) << GetParam().sql;
  EXPECT_EQ(store.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(store.error().message.find(GetParam().names), std::string::npos)
      << store.error().message;
  EXPECT_NE(store.error().message.find("restore"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SqliteDamage,
    testing::Values(
        Damage{"UPDATE records SET body = x'0501000900' WHERE seq = 5", "record 5 "},
        Damage{"UPDATE records SET body = zeroblob(3) WHERE seq = 4", "record 4 "},
        Damage{"UPDATE records SET chain = zeroblob(32) WHERE seq = 7", "record 7 "},
        Damage{"UPDATE records SET kind = 'JobReleased' WHERE seq = 3", "record 3 "},
        Damage{"UPDATE records SET job = 99 WHERE seq = 3", "record 3 "},
        Damage{"UPDATE records SET batch = 4 WHERE seq = 3", "record 3 "},
        Damage{"UPDATE records SET is_decision = 1 - is_decision WHERE seq = 3", "record 3 "},
        Damage{"DELETE FROM records WHERE seq = 6", "record 6 "},
        Damage{"DELETE FROM records WHERE seq = 10", "record 10 "},
        Damage{"DELETE FROM records", "record 1 "}, Damage{"DELETE FROM batches", "record 10 "},
        Damage{"DELETE FROM batches WHERE batch = 2", "record 3 "},
        Damage{"DELETE FROM batches WHERE batch = 5", "record 10 "},
        Damage{"UPDATE batches SET at_us = at_us + 1 WHERE batch = 3", "batch 3"},
        Damage{"UPDATE batches SET decisions_digest = 0 WHERE batch = 3", "batch 3"},
        Damage{"UPDATE batches SET state_hash = 1 WHERE batch = 3", "batch 3"},
        Damage{"UPDATE batches SET chain = zeroblob(32) WHERE batch = 5", "batch 5"},
        Damage{"UPDATE batches SET events = 0, decisions = 2 WHERE batch = 2", "record 3 "},
        Damage{"DELETE FROM meta WHERE key = 'anchor_chain'", "anchor"}));

TEST(SqliteStore, DamageBeforeTheSnapshotIsFoundByReadingAndVerify) {
  Directory directory;
  {
    auto store = open(directory.path());
    const Epoch epoch = *store->begin_epoch("test");
    for (int i = 0; i < 5; ++i) append(*store, epoch, 1, 1);
    ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
    append(*store, epoch, 1, 1);
  }
  tamper(directory.file(), "UPDATE records SET job = 99 WHERE seq = 3");
  auto store = open(directory.path());
  EXPECT_EQ(store->verify().error().kind, ErrorKind::kCorrupt);
  auto read = store->read(Seq{}, [](const Batch&) { return true; });
  EXPECT_NE(read.error().message.find("record 3 "), std::string::npos);
}

TEST(SqliteStore, AForgedChainDiffersFromTheSnapshotsAnchor) {
  Directory directory, other;
  for (const auto* at : {&directory, &other}) {
    auto store = open(at->path());
    const Epoch epoch = *store->begin_epoch("test");
    append(*store, epoch, at == &directory ? 2 : 1, at == &directory ? 0 : 1);
    ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
  }
  // The other log is sound in itself, but not the one that this snapshot was made of.
  tamper(other.file(), "ATTACH '" + directory.file() +
                           "' AS good; DELETE FROM snapshots; "
                           "INSERT INTO snapshots SELECT * FROM good.snapshots");
  auto store = open(other.path());
  auto verified = store->verify();
  ASSERT_FALSE(verified.ok());
  EXPECT_NE(verified.error().message.find("snapshot"), std::string::npos);
}

TEST(SqliteStore, AChangedSnapshotOrBlobIsFound) {
  const std::string hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  Directory directory;
  {
    auto store = open(directory.path());
    const Epoch epoch = *store->begin_epoch("test");
    Batch batch = batch_after(store->head(), epoch, 1, 0);
    batch.blobs = {{hello, "hello"}};
    ASSERT_TRUE(store->append(epoch, Seq{}, batch).ok());
    ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
  }
  tamper(directory.file(), "UPDATE snapshots SET bytes = x'00'; UPDATE blobs SET bytes = x'00'");
  auto store = open(directory.path());
  EXPECT_FALSE(store->latest_snapshot()->has_value()) << "the log is all there";
  EXPECT_EQ(store->blob(hello).error().code, "blob_damaged");
  const auto damages = store->damages();
  ASSERT_TRUE(damages.ok());
  ASSERT_EQ(damages->size(), 2u);
  EXPECT_TRUE((*damages)[0].field.starts_with("snapshot "));
  EXPECT_EQ((*damages)[1].field, "blob " + hello);
}

TEST(SqliteStore, ADamagedSnapshotIsPassedOverWhileTheLogReachesBack) {
  Directory directory;
  {
    auto store = open(directory.path());
    const Epoch epoch = *store->begin_epoch("test");
    for (int i = 0; i < 3; ++i) {
      append(*store, epoch, 1, 1);
      ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
    }
  }
  tamper(directory.file(), "UPDATE snapshots SET bytes = x'00' WHERE seq = 6");
  auto store = open(directory.path());
  ASSERT_TRUE(store->latest_snapshot().ok());
  EXPECT_EQ((*store->latest_snapshot())->head.seq.value, 4u);
  EXPECT_EQ(store->damages()->size(), 1u);
  tamper(directory.file(), "UPDATE snapshots SET bytes = x'00'");
  EXPECT_FALSE(store->latest_snapshot()->has_value()) << "the whole log is there";
  ASSERT_TRUE(store->forget_before(Seq{5}, {}).ok());
  EXPECT_EQ(store->latest_snapshot().error().code, "snapshot_damaged");
}

TEST(SqliteStore, ADamagedBlobThatWasSetAsideCanBeStoredAnew) {
  const std::string hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  Batch batch = batch_after(store->head(), epoch, 1, 0);
  batch.blobs = {{hello, "hello"}};
  ASSERT_TRUE(store->append(epoch, Seq{}, batch).ok());
  tamper(directory.file(), "UPDATE blobs SET bytes = x'00'");
  ASSERT_TRUE(store->set_aside(hello).ok());
  EXPECT_TRUE(store->damages()->empty());
  EXPECT_FALSE(store->blob(hello)->has_value());
  batch = batch_after(store->head(), epoch, 1, 0);
  batch.blobs = {{hello, "hello"}};
  ASSERT_TRUE(store->append(epoch, store->head().seq, batch).ok());
  EXPECT_EQ(store->blob(hello)->value(), "hello");
}

TEST(SqliteStore, TheLogsFileKeepsRoomBehindItsEnd) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  ASSERT_TRUE(store->append(epoch, Seq{}, batch_after(store->head(), epoch, 1, 0)).ok());
  struct stat facts {};
  ASSERT_EQ(::stat((directory.file() + "-wal").c_str(), &facts), 0);
  if (facts.st_blocks * 512 <= facts.st_size + 8192) GTEST_SKIP() << "no such file system";
  EXPECT_GE(facts.st_blocks * 512 - facts.st_size, 1 << 19);
}

TEST(SqliteStore, AFileThatIsNoDatabaseIsRefused) {
  Directory directory;
  fs::create_directories(directory.path());
  const int file = ::open(directory.file().c_str(), O_CREAT | O_WRONLY, 0600);
  const std::string junk(8192, 'j');
  ASSERT_EQ(::write(file, junk.data(), junk.size()), static_cast<ssize_t>(junk.size()));
  ::close(file);
  auto store = SqliteStore::open(directory.path(), OpenMode::kWrite);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, "data_damaged");
}

TEST(SqliteStore, DataOfANewerProgramAreRefused) {
  Directory directory;
  open(directory.path()).reset();
  tamper(directory.file(), "UPDATE meta SET value = 99 WHERE key = 'schema_version'");
  EXPECT_EQ(SqliteStore::open(directory.path(), OpenMode::kWrite).error().code, "data_newer");
  EXPECT_EQ(SqliteStore::open(directory.path(), OpenMode::kReadOnly).error().code, "data_newer");
}

TEST(SqliteStore, ADirectoryThatCannotBeMadeIsNamed) {
  auto store = SqliteStore::open("/proc/dove/data", OpenMode::kWrite);
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().message.find("/proc/dove/data"), std::string::npos);
}

// -- crashes and limits --------------------------------------------------------------------------

// Runs `body` in a child process, which ends with its return value.
template <class Body>
pid_t fork_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

TEST(SqliteStore, AFileSizeLimitIsAnErrorAndNothingIsHalfWritten) {
  Directory directory;
  const pid_t child = fork_child([&] {
    auto store = open(directory.path());
    const Epoch epoch = *store->begin_epoch("test");
    const rlimit limit{400'000, 400'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    for (int i = 0; i < 1000; ++i) {
      const Seq head = store->head().seq;
      auto done = store->append(epoch, head, batch_after(store->head(), epoch, 20, 20));
      if (done.ok()) continue;
      if (store->head().seq != head) return 2;
      if (done.error().kind == ErrorKind::kExhausted) return 0;
      std::fprintf(stderr, "%s\n", done.error().message.c_str());
      return 3;
    }
    return 4;
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto store = open(directory.path());
  EXPECT_TRUE(store->verify().ok());
  EXPECT_GT(store->head().seq.value, 0u);
  EXPECT_EQ(store->head().seq.value % 40, 0u) << "whole batches only";
  append(*store, *store->begin_epoch("test"), 1, 0);
}

TEST(SqliteStore, WhatWasAcknowledgedSurvivesSigkill) {
  Directory directory;
  Random random(11);
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = fork_child([&] {
      ::close(pipe_ends[0]);
      auto store = open(directory.path());
      const Epoch epoch = *store->begin_epoch("child");
      for (;;) {
        auto batch = batch_after(store->head(), epoch, 3, 2);
        if (!store->append(epoch, store->head().seq, batch).ok()) return 1;
        const std::uint64_t head = store->head().seq.value;
        if (::write(pipe_ends[1], &head, sizeof head) != sizeof head) return 2;
      }
    });
    ::close(pipe_ends[1]);
    // Kill after a random number of acknowledgements, wherever the child then is.
    std::uint64_t head = 0;
    for (std::uint64_t left = random.below(40) + 1; left > 0; --left) {
      if (::read(pipe_ends[0], &head, sizeof head) != sizeof head) break;
      acknowledged = head;
    }
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &head, sizeof head) == sizeof head) acknowledged = head;
    ::close(pipe_ends[0]);
    ::waitpid(child, nullptr, 0);
    auto store = open(directory.path());
    ASSERT_NE(store, nullptr);
    ASSERT_GE(store->head().seq.value, acknowledged);
    EXPECT_EQ(store->head().seq.value % 5, 0u);
    ASSERT_TRUE(store->verify().ok());
  }
  EXPECT_GT(acknowledged, 0u);
}

TEST(SqliteStore, RetentionIsDoneInSlices) {
  Directory directory;
  auto store = open(directory.path());
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 0; i < 1500; ++i) append(*store, epoch, 1, 1);
  ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
  std::atomic<bool> over{false};
  std::thread forgetting([&] {
    EXPECT_TRUE(store->forget_before(Seq{2'901}, {}).ok());
    over = true;
  });
  // In one transaction nobody could see it half done.
  bool halfway = false;
  while (!over) {
    const std::uint64_t gone = store->forgotten_through()->value;
    halfway = halfway || (gone > 0 && gone < 2'900);
    if (halfway) append(*store, epoch, 1, 0);
  }
  forgetting.join();
  EXPECT_TRUE(halfway);
  EXPECT_EQ(store->forgotten_through()->value, 2'900u);
  EXPECT_TRUE(store->verify().ok());
}

// The newest snapshot is from before what retention has dropped: nothing is there to go on from.
TEST(SqliteStore, ALostSnapshotIsFoundAtOpen) {
  Directory directory;
  {
    auto store = open(directory.path());
    const Epoch epoch = *store->begin_epoch("test");
    for (int i = 0; i < 6; ++i) {
      append(*store, epoch, 1, 1);
      if (i % 3 != 2) continue;
      ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
    }
    ASSERT_TRUE(store->forget_before(Seq{9}, {}).ok());
  }
  tamper(directory.file(), "DELETE FROM snapshots WHERE seq > 6");
  const auto opened = SqliteStore::open(directory.path(), OpenMode::kWrite);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, "snapshot_missing");
  EXPECT_NE(opened.error().message.find("up to 8 "), std::string::npos) << opened.error().message;
  EXPECT_NE(opened.error().message.find("record 6"), std::string::npos);
}

TEST(SqliteStore, RetentionKeepsTheChain) {
  Directory directory;
  {
    auto store = open(directory.path());
    const Epoch epoch = *store->begin_epoch("test");
    for (int i = 0; i < 50; ++i) append(*store, epoch, 1, 1);
    ASSERT_TRUE(store->put_snapshot({store->head(), 1, "state"}).ok());
    ASSERT_TRUE(store->forget_before(Seq{91}, {}).ok());
    EXPECT_EQ(store->forgotten_through()->value, 90u);
    ASSERT_TRUE(store->verify().ok());
    ASSERT_TRUE(store->forget_before(Seq{101}, {}).ok());
    EXPECT_EQ(store->forgotten_through()->value, 98u) << "the last batch stays";
    append(*store, epoch, 1, 1);
    ASSERT_TRUE(store->verify().ok());
  }
  tamper(directory.file(), "UPDATE meta SET value = zeroblob(32) WHERE key = 'anchor_chain'");
  auto store = open(directory.path());
  EXPECT_EQ(store->verify().error().kind, ErrorKind::kCorrupt);
}

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, LogStoreConformance, SqliteHarness);

}  // namespace dove::store
