#include "store/postgres/postgres_store.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "codec/record_samples.h"
#include "model/incarnation.h"
#include "store/log_store_conformance.h"
#include "store/postgres/facts.h"
#include "store/postgres/server_for_test.h"

namespace dove::store {
namespace {

const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new PostgresEnvironment);

Connection line_to(const std::string& url) {
  auto line = Connection::open({url, "test", std::chrono::seconds(30)});
  EXPECT_TRUE(line.ok()) << (line.ok() ? "" : line.error().message);
  return std::move(line).value();
}

std::unique_ptr<PostgresStore> open(const std::string& url, const std::string& name = "http://a") {
  auto store = PostgresStore::open({url, name});
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? std::move(store).value() : nullptr;
}

class PostgresHarness {
 public:
  PostgresHarness() : url_(PostgresServer::instance().new_database()) { reopen(); }
  LogStore& log() { return *store_; }
  LogKeeper& keeper() { return *store_; }
  void reopen() {
    store_.reset();
    store_ = open(url_);
  }
  // As the database says it when a table cannot grow.
  void set_full(bool full) {
    Connection line = line_to(url_);
    const Result<void> done = line.execute(
        full ? "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
               "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;"
               "CREATE TRIGGER no_room BEFORE INSERT ON blobs EXECUTE FUNCTION no_room()"
             : "DROP TRIGGER no_room ON blobs");
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  }

 private:
  std::string url_;
  std::unique_ptr<PostgresStore> store_;
};

void append(PostgresStore& store, Epoch epoch, int events, int decisions) {
  auto done =
      store.append(epoch, store.head().seq, batch_after(store.head(), epoch, events, decisions));
  ASSERT_TRUE(done.ok()) << done.error().message;
}

std::size_t batches_in(PostgresStore& store) {
  std::size_t count = 0;
  auto done = store.read(Seq{}, [&](const Batch&) { return ++count > 0; });
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  return count;
}

// A search in the log reads one batch at each place.
TEST(PostgresStore, AReadThatEndsSoonDoesNotFetchWhatFollows) {
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  const Epoch epoch = *store->begin_epoch("test");
  for (int i = 0; i < 150; ++i) append(*store, epoch, 1, 0);
  Connection line = line_to(url);
  const Result<void> trap = line.execute(
      "ALTER TABLE records RENAME TO rows; CREATE VIEW records AS SELECT seq, batch, is_decision, "
      "kind, job, node, CASE WHEN seq > 100 THEN decode((1 / (seq - seq))::text, 'hex') ELSE body "
      "END AS body, chain FROM rows");
  ASSERT_TRUE(trap.ok()) << trap.error().message;
  std::size_t count = 0;
  const Result<void> soon = store->read(Seq{20}, [&](const Batch&) { return ++count < 3; });
  EXPECT_TRUE(soon.ok()) << soon.error().message;
  EXPECT_EQ(count, 3U);
  EXPECT_FALSE(store->read(Seq{}, [](const Batch&) { return true; }).ok()) << "the trap works";
}

TEST(PostgresStore, EveryKindOfRecordComesBack) {
  auto store = open(PostgresServer::instance().new_database());
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
  const auto done = store->read(Seq{}, [&](const Batch& got) {
    expect_same(got, batch);
    return ++batches > 0;
  });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(batches, 1);
  EXPECT_TRUE(store->verify().ok());
  EXPECT_TRUE(store->damages()->empty());
}

TEST(PostgresStore, ATextOfTheLeaderIsThereForTheNextOne) {
  const std::string url = PostgresServer::instance().new_database();
  auto first = open(url, "http://a");
  auto second = open(url, "http://b");
  EXPECT_EQ(first->kept_text("notices").error().code, "not_kept");
  EXPECT_EQ(first->keep_text("notices", "early").error().code, "epoch_stale");
  ASSERT_TRUE(first->begin_epoch("a").ok());
  ASSERT_TRUE(first->keep_text("notices", "one").ok());
  ASSERT_TRUE(first->keep_text("notices", std::string("two\0", 4)).ok());
  ASSERT_TRUE(line_to(url).execute("UPDATE leader SET until = clock_timestamp()").ok());
  ASSERT_TRUE(second->begin_epoch("b").ok());
  EXPECT_EQ(first->keep_text("notices", "late").error().code, "epoch_stale");
  EXPECT_EQ(*second->kept_text("notices"), std::string("two\0", 4));
}

TEST(PostgresStore, WhoeverLedBeforeWritesNothing) {
  const std::string url = PostgresServer::instance().new_database();
  auto first = open(url, "http://a");
  auto second = open(url, "http://b");
  const Epoch old_epoch = *first->begin_epoch("a");
  append(*first, old_epoch, 1, 1);
  const auto refused = second->begin_epoch("b");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "lease_held");
  EXPECT_EQ(second->leader()->url, "http://a");
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("UPDATE leader SET until = clock_timestamp()").ok());
  const auto epoch = second->begin_epoch("b");
  ASSERT_TRUE(epoch.ok()) << epoch.error().message;
  EXPECT_GT(*epoch, old_epoch);
  EXPECT_EQ(second->head().seq, first->head().seq);
  append(*second, *epoch, 1, 0);
  const Batch late = batch_after(first->head(), old_epoch, 1, 0);
  EXPECT_EQ(first->append(old_epoch, first->head().seq, late).error().code, "epoch_stale");
  EXPECT_FALSE(*first->renew());
  EXPECT_TRUE(*second->renew());
  first.reset();  // which gives nothing back that is not its own
  EXPECT_GT(second->leader()->left_us, 0);
  EXPECT_EQ(batches_in(*second), 2u);
}

TEST(PostgresStore, ALeaderOutlastsADatabaseThatIsStartedAnew) {
  const std::string url = PostgresServer::instance().new_database();
  auto first = open(url, "http://a");
  const Epoch epoch = *first->begin_epoch("a");
  append(*first, epoch, 1, 1);
  PostgresServer::instance().stop();
  ASSERT_TRUE(PostgresServer::instance().begin());
  append(*first, epoch, 1, 0);
  EXPECT_EQ(batches_in(*first), 2u);
  PostgresServer::instance().stop();
  ASSERT_TRUE(PostgresServer::instance().begin());
  auto second = open(url, "http://b");
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("UPDATE leader SET until = clock_timestamp()").ok());
  append(*second, *second->begin_epoch("b"), 1, 0);
  const Batch late = batch_after(first->head(), epoch, 1, 0);
  EXPECT_EQ(first->append(epoch, first->head().seq, late).error().code, "epoch_stale");
  EXPECT_EQ(batches_in(*second), 3u);
}

TEST(PostgresStore, ALeaseThatIsGivenBackIsOverAtOnce) {
  const std::string url = PostgresServer::instance().new_database();
  auto first = open(url);
  auto second = open(url);
  ASSERT_TRUE(first->begin_epoch("a").ok());
  EXPECT_FALSE(second->begin_epoch("b").ok());
  first.reset();
  EXPECT_TRUE(second->begin_epoch("b").ok());
}

TEST(PostgresStore, ALeaseThatIsHandedOverIsForOneAlone) {
  const std::string url = PostgresServer::instance().new_database();
  const auto open_as = [&](const std::string& name) {
    PostgresOptions options;
    options.url = url;
    options.leads_at = "http://" + name;
    options.name = name;
    options.version = "1";
    return std::move(PostgresStore::open(options)).value();
  };
  auto a = open_as("a");
  auto b = open_as("b");
  auto c = open_as("c");
  ASSERT_TRUE(a->begin_epoch("a").ok());
  const std::string says = R"({"calls":7})";
  ASSERT_TRUE(b->stands_by(Seq{1}, "").ok());
  ASSERT_TRUE(c->stands_by(Seq{2}, "").ok());
  ASSERT_TRUE(b->stands_by(Seq{3}, says).ok());
  const auto standbys = a->standbys();
  ASSERT_EQ(standbys->size(), 2u);
  EXPECT_EQ(standbys->front().name, "b");
  EXPECT_EQ(standbys->front().url, "http://b");
  EXPECT_EQ(standbys->front().folded, Seq{3});
  EXPECT_EQ(standbys->front().version, "1");
  EXPECT_EQ(standbys->front().level, kNewestLevel);
  EXPECT_EQ(standbys->front().says, says);
  EXPECT_EQ(standbys->back().says, "");
  ASSERT_TRUE(b->stands_by(Seq{3}, std::string(5'000, 'x')).ok());
  EXPECT_EQ(a->standbys()->front().says, std::string(Standbys::kSaysMax, 'x'));
  Connection former = line_to(url);  // it names no level
  ASSERT_TRUE(former.execute("UPDATE controllers SET version = '1' WHERE name = 'b'").ok());
  EXPECT_EQ(a->standbys()->front().level, kFirstLevel);
  EXPECT_EQ(a->standbys()->front().says, "");
  a->release("b");
  EXPECT_EQ(c->begin_epoch("c").error().code, "lease_held");
  EXPECT_EQ(a->begin_epoch("a").error().code, "lease_held");
  EXPECT_GT(c->leader()->left_us, 0);
  EXPECT_EQ(b->leader()->left_us, 0);
  ASSERT_TRUE(b->begin_epoch("b").ok());
  b->release();
  EXPECT_TRUE(c->begin_epoch("c").ok());
  // Who does not come leaves it to all others when the time of a lease has passed.
  c->release("gone");
  EXPECT_EQ(a->begin_epoch("a").error().code, "lease_held");
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("UPDATE handed SET until = clock_timestamp()").ok());
  EXPECT_TRUE(a->begin_epoch("a").ok());
}

TEST(PostgresStore, ALogOfAFormerVersionGetsTheTablesThatItLacks) {
  const std::string url = PostgresServer::instance().new_database();
  open(url).reset();
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("DROP TABLE handed; DROP TABLE controllers").ok());
  EXPECT_FALSE(look_at_postgres(url, 100)->leader.has_value());
  auto store = open(url);
  ASSERT_TRUE(store->begin_epoch("a").ok());
  EXPECT_TRUE(store->standbys()->empty());
  const auto facts = look_at_postgres(url, 100);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->leader->holder, "a");
  EXPECT_TRUE(facts->has_log && facts->may_write && facts->may_see_replicas);
  EXPECT_GE(facts->version_num, 130'000);
  EXPECT_LT(std::abs(facts->ahead_us), facts->doubt_us + 1'000'000);
}

TEST(PostgresStore, TheChainOfTheLastRecordsIsLookedAt) {
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  EXPECT_EQ(look_at_postgres(url, 4)->chain_to, Seq{});
  const Epoch epoch = *store->begin_epoch("a");
  for (int i = 0; i < 5; ++i) append(*store, epoch, 1, 1);
  const auto last = look_at_postgres(url, 4);
  EXPECT_EQ(last->chain_after, Seq{6});
  EXPECT_EQ(last->chain_to, Seq{10});
  EXPECT_FALSE(last->chain_error.has_value());
  EXPECT_FALSE(last->data_directory.empty());
  EXPECT_EQ(look_at_postgres(url, UINT64_MAX)->chain_after, Seq{});
  ASSERT_TRUE(line_to(url).execute("UPDATE records SET body = '\\x00' WHERE seq = 3").ok());
  EXPECT_FALSE(look_at_postgres(url, 4)->chain_error.has_value()) << "it is none of the last four";
  EXPECT_EQ(look_at_postgres(url, 10)->chain_error->kind, ErrorKind::kCorrupt);
}

TEST(PostgresStore, ARoleThatMayNotWriteAllIsSeen) {
  const std::string url = PostgresServer::instance().new_database();
  open(url).reset();
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("CREATE ROLE half LOGIN; GRANT USAGE ON SCHEMA dove TO half;"
                           "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA dove TO half")
                  .ok());
  std::string of_half = url;
  of_half.replace(of_half.find("dove@"), 5, "half@");
  const auto facts = look_at_postgres(of_half, 100);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_TRUE(facts->has_log);
  EXPECT_FALSE(facts->may_write || facts->may_create || facts->may_see_replicas);
}

// A leader that was stopped while a session of its held its row must not keep its successor
// waiting.
void expect_taken_over_from(const char* session, const char* holds) {
  const std::string url = PostgresServer::instance().new_database();
  auto first = open(url);
  ASSERT_TRUE(first->begin_epoch("a").ok());
  auto hung = Connection::open({url, session, std::chrono::seconds(30)});
  ASSERT_TRUE(hung->execute("BEGIN").ok());
  ASSERT_TRUE(hung->run(holds).ok());
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("UPDATE leader SET until = clock_timestamp()").ok());
  auto second = open(url);
  const auto epoch = second->begin_epoch("b");
  EXPECT_TRUE(epoch.ok()) << epoch.error().message;
}

TEST(PostgresStore, AWriterThatHangsIsEnded) {
  expect_taken_over_from("dove writer", "SELECT hold_epoch(1, 0)");
}

// As it does for a snapshot, and while it drops old records.
TEST(PostgresStore, AReaderThatHangsWithTheRowOfTheLeaderIsEnded) {
  expect_taken_over_from("dove reader", "SELECT epoch FROM leader WHERE id = 1 FOR KEY SHARE");
}

TEST(PostgresStore, ReadingNamesWhatWasChanged) {
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  const Epoch epoch = *store->begin_epoch("a");
  for (int i = 0; i < 5; ++i) append(*store, epoch, 1, 1);
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("UPDATE records SET body = body || '\\x00' WHERE seq = 7").ok());
  const auto found = store->verify();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, "log_corrupt");
  EXPECT_EQ(found.error().field, "seq 7");
}

TEST(PostgresStore, ABlobThatWasChangedIsNotGiven) {
  const std::string hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  const Epoch epoch = *store->begin_epoch("a");
  Batch batch = batch_after(store->head(), epoch, 1, 0);
  batch.blobs = {{hello, "hello"}};
  ASSERT_TRUE(store->append(epoch, Seq{}, batch).ok());
  ASSERT_TRUE(line_to(url).execute("UPDATE blobs SET bytes = 'hallo'").ok());
  EXPECT_EQ(store->blob(hello).error().code, "blob_damaged");
  ASSERT_EQ(store->damages()->size(), 1u);
  EXPECT_EQ(store->damages()->front().field, "blob " + hello);
  ASSERT_TRUE(store->set_aside(hello).ok());
  EXPECT_TRUE(store->damages()->empty());
  EXPECT_FALSE(store->blob(hello)->has_value());
}

// It was committed here, and nowhere else: neither done nor not done.
TEST(PostgresStore, ACommitThatStoppedWaitingForItsStandbyIsUnknown) {
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  const Epoch epoch = *store->begin_epoch("a");
  append(*store, epoch, 1, 0);
  EXPECT_TRUE(store->can_be_lost()->has_value());
  Connection line = line_to(url);
  ASSERT_TRUE(line.execute("ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'").ok());
  ASSERT_TRUE(line.execute("SELECT pg_reload_conf()").ok());
  std::atomic<bool> over = false;
  std::thread cancels([&] {
    Connection other = line_to(PostgresServer::instance().url("postgres"));
    while (!over) {
      (void)other.run(
          "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = "
          "'dove writer' AND wait_event = 'SyncRep'");
    }
  });
  Result<void> unknown;
  while (unknown.ok()) {  // the writer's server process may hear of the setting later
    unknown = store->append(epoch, store->head().seq, batch_after(store->head(), epoch, 1, 0));
  }
  over = true;
  cancels.join();
  ASSERT_TRUE(line.execute("ALTER SYSTEM RESET synchronous_standby_names").ok());
  ASSERT_TRUE(line.execute("SELECT pg_reload_conf()").ok());
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "commit_unknown");
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUnavailable);
}

TEST(PostgresStore, WhatCannotBeReachedSaysSoWithoutThePassword) {
  const auto store =
      PostgresStore::open({"postgres://dove:hunter2@/nowhere?host=/nonexistent", "x"});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, "store_unreachable");
  EXPECT_EQ(store.error().message.find("hunter2"), std::string::npos) << store.error().message;
  const auto malformed = PostgresStore::open({"postgres://dove:hunter%2@/x", "x"});
  ASSERT_FALSE(malformed.ok());
  EXPECT_EQ(malformed.error().code, "bad_store");
  EXPECT_EQ(malformed.error().message.find("hunter"), std::string::npos);
}

// A primary that failed without a synchronous standby, and its successor that was written to.
TEST(PostgresStore, WhoeverFollowsNoticesThatTheLogIsAnotherOne) {
  const std::string url = PostgresServer::instance().new_database();
  auto leads = open(url);
  auto follows = open(url);
  const Epoch epoch = *leads->begin_epoch("a");
  for (int i = 0; i < 3; ++i) append(*leads, epoch, 1, 0);
  const auto read_on = [&](std::uint64_t after) {
    return follows->read(Seq{after}, [](const Batch&) { return true; });
  };
  ASSERT_TRUE(read_on(0).ok());
  EXPECT_TRUE(read_on(3).ok());
  Connection line = line_to(url);
  ASSERT_TRUE(
      line.execute("DELETE FROM records WHERE seq = 3; DELETE FROM batches WHERE batch = 3").ok());
  EXPECT_EQ(read_on(3).error().code, "log_rewound");
  auto next = open(url);
  leads.reset();
  const Epoch later = *next->begin_epoch("b");
  append(*next, later, 1, 1);
  EXPECT_EQ(read_on(3).error().code, "log_rewound");
  EXPECT_TRUE(read_on(2).ok());
}

void cut_after(const std::string& url, int batch) {
  Connection line = line_to(url);
  for (const char* table : {"records", "batches"}) {
    const std::string cut = fmt::format("DELETE FROM {} WHERE batch > {}", table, batch);
    ASSERT_TRUE(line.execute(cut.c_str()).ok());
  }
}

TEST(PostgresStore, WhoeverLedBeforeNoticesThatWhatItWroteIsGone) {
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  const Epoch epoch = *store->begin_epoch("a");
  for (int i = 0; i < 3; ++i) append(*store, epoch, 1, 0);
  EXPECT_EQ(*store->chain_at(Seq{3}), store->head().chain_sha256);
  store->release();
  cut_after(url, 2);
  EXPECT_EQ(store->read(Seq{3}, [](const Batch&) { return true; }).error().code, "log_rewound");
  EXPECT_FALSE(store->chain_at(Seq{3})->has_value());
}

TEST(PostgresStore, ALogThatLostItsEndGoesOnAsANewIncarnation) {
  constexpr std::int64_t kNow_s = 1'800'000'000;
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  const Epoch epoch = *store->begin_epoch("a");
  for (int i = 0; i < 5; ++i) append(*store, epoch, 1, 1);
  ASSERT_TRUE(store->put_snapshot({store->head(), 7, "state"}).ok());
  cut_after(url, 3);
  auto next = open(url);
  EXPECT_EQ(next->begin_incarnation(kNow_s).error().code, "epoch_stale") << "another one leads";
  const auto of_snapshot = next->read(Seq{10}, [](const Batch&) { return true; });
  ASSERT_FALSE(of_snapshot.ok()) << "its snapshot is of what is gone";
  EXPECT_EQ(of_snapshot.error().code, "log_rewound");
  EXPECT_NE(of_snapshot.error().message.find("dove restore --in-place --store"), std::string::npos);
  store.reset();
  std::uint64_t newest = epoch.value;
  for (const std::int64_t now_s : {kNow_s, kNow_s, kNow_s - 500}) {
    ASSERT_TRUE(next->begin_epoch("dove restore").ok());
    const auto head = next->begin_incarnation(now_s);
    ASSERT_TRUE(head.ok()) << head.error().message;
    EXPECT_EQ(*head, Seq{6});
    EXPECT_FALSE(next->leads());
    EXPECT_EQ(next->leader()->left_us, 0);
    const Epoch term = next->leader()->epoch;
    EXPECT_GT(restored_s(term), restored_s(Epoch{newest})) << "also when the clock went back";
    newest = term.value;
  }
  EXPECT_FALSE(next->latest_snapshot()->has_value());
  auto leads = open(url);
  const Epoch term = *leads->begin_epoch("b");
  EXPECT_EQ(term.value, newest + 1);
  append(*leads, term, 1, 0);
  EXPECT_EQ(leads->head().seq, Seq{7});
  EXPECT_TRUE(leads->verify().ok());
}

TEST(PostgresStore, ALogWithoutItsBeginningNeedsASnapshotToGoOn) {
  const std::string url = PostgresServer::instance().new_database();
  auto store = open(url);
  const Epoch epoch = *store->begin_epoch("a");
  EXPECT_EQ(store->begin_incarnation(1).error().code, "restore_too_early") << "it is empty";
  for (int i = 0; i < 4; ++i) append(*store, epoch, 1, 0);
  ASSERT_TRUE(store->put_snapshot({store->head(), 7, "state"}).ok());
  ASSERT_TRUE(store->forget_before(Seq{3}, {}).ok());
  cut_after(url, 3);
  EXPECT_EQ(store->begin_incarnation(1).error().code, "restore_too_early");
  auto rows = line_to(url).run("SELECT count(*) FROM snapshots");
  EXPECT_EQ(rows->integer(0, 0), 1) << "nothing was changed";
}

TEST(PostgresStore, AStandbyIsWokenByAnAppend) {
  const std::string url = PostgresServer::instance().new_database();
  auto leads = open(url);
  auto follows = open(url);
  const Epoch epoch = *leads->begin_epoch("a");
  follows->wait_for_news(std::chrono::milliseconds(1), -1);  // it listens from here on
  append(*leads, epoch, 1, 0);
  const auto begun = std::chrono::steady_clock::now();
  follows->wait_for_news(std::chrono::seconds(60), -1);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  EXPECT_EQ(batches_in(*follows), 1u);
}

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, LogStoreConformance, PostgresHarness);

}  // namespace dove::store
