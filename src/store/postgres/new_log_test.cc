#include "store/postgres/new_log.h"

#include "store/log_store_conformance.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/server_for_test.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::store {
namespace {

struct NewLogs : testing::Test {
  std::string folder = (std::filesystem::temp_directory_path() / "dove-store-XXXXXX").string();
  std::unique_ptr<SqliteStore> from = open_from();
  Epoch epoch = *from->begin_epoch("alone");
  const std::string url = PostgresServer::instance().new_database();
  std::unique_ptr<PostgresStore> to = open_to();

  ~NewLogs() override {
    from.reset();
    std::filesystem::remove_all(folder);
  }
  std::unique_ptr<SqliteStore> open_from() {
    auto store =
        SqliteStore::open(std::string(::mkdtemp(folder.data())) + "/data", OpenMode::kWrite);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store).value() : nullptr;
  }
  std::unique_ptr<PostgresStore> open_to() const {
    auto store = PostgresStore::open({url, "http://a"});
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store).value() : nullptr;
  }
  LogPage page(Seq after, Epoch term, std::size_t bytes_max = 1) const {
    auto bytes = from->page(after, term, bytes_max);
    EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : bytes.error().message);
    return *decode_page(*bytes);
  }
  void add(int events, int decisions) {
    const Batch next = batch_after(from->head(), epoch, events, decisions);
    ASSERT_TRUE(from->append(epoch, from->head().seq, next).ok());
  }
  // All of it, one batch after the other.
  Result<void> take_all(NewLog& log) const {
    TRY_ASSIGN(Seq after, from->forgotten_through());
    for (Epoch term;;) {
      const LogPage next = page(after, term);
      TRY(log.take(next));
      if (!next.terms.empty()) term = next.terms.back().epoch;
      if (next.batches.empty()) break;
      after = last_seq(next.batches.back().header);
    }
    TRY_ASSIGN(const auto snapshot, from->latest_snapshot());
    if (snapshot) TRY(log.take_snapshot(*snapshot));
    return from->each_blob([&](std::string_view sha256, Seq seq, std::string_view bytes) {
      return log.take_blob(sha256, seq, bytes);
    });
  }
};

TEST_F(NewLogs, IsTheSameLogThere) {
  const std::string sha256 = hex_of(Chain().of("a script"));
  for (int i = 0; i < 5; ++i) add(2, 1);
  ASSERT_TRUE(from->put_snapshot({from->head(), 7, "state"}).ok());
  ASSERT_TRUE(from->forget_before(Seq{7}, {}).ok());
  epoch = *from->begin_epoch("alone again");
  Batch last = batch_after(from->head(), epoch, 1, 0);
  last.blobs = {{sha256, "a script"}};
  ASSERT_TRUE(from->append(epoch, from->head().seq, last).ok());

  auto log = NewLog::begin(url, *to->begin_epoch("dove restore"));
  ASSERT_TRUE(log.ok()) << log.error().message;
  const Result<void> taken = take_all(**log);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_TRUE(*to->renew()) << "its lease is renewed meanwhile";
  EXPECT_FALSE(open_to()->head().seq) << "nobody sees the half of it";
  const Result<void> done = (*log)->commit();
  ASSERT_TRUE(done.ok()) << done.error().message;

  auto leads = open_to();
  EXPECT_EQ(leads->head().seq, from->head().seq);
  EXPECT_EQ(leads->head().chain_sha256, from->head().chain_sha256);
  EXPECT_TRUE(leads->verify().ok());
  EXPECT_TRUE(leads->damages()->empty());
  EXPECT_EQ(leads->latest_snapshot()->value().bytes, "state");
  EXPECT_EQ(leads->blob(sha256)->value_or(""), "a script");
  EXPECT_EQ(leads->read(Seq{}, [](const Batch&) { return true; }).error().code,
            "records_forgotten");
  const auto next = leads->begin_epoch("b");
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(next->value, epoch.value + 1) << "terms go on";
  EXPECT_TRUE(
      leads->append(*next, leads->head().seq, batch_after(leads->head(), *next, 1, 1)).ok());
}

TEST_F(NewLogs, OneThatIsBrokenOffLeavesAnEmptyDatabase) {
  add(2, 1);
  for (int i = 0; i < 2; ++i) {
    auto log = NewLog::begin(url, *to->begin_epoch("dove restore"));
    ASSERT_TRUE(log.ok()) << log.error().message;
    ASSERT_TRUE(take_all(**log).ok());
  }
  EXPECT_FALSE(open_to()->head().seq);
}

TEST_F(NewLogs, ALogThatIsThereStays) {
  add(2, 1);
  const Epoch term = *to->begin_epoch("a");
  ASSERT_TRUE(to->append(term, Seq{}, batch_after(Head{}, term, 1, 0)).ok());
  const auto log = NewLog::begin(url, term);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, "store_not_empty");
  EXPECT_NE(log.error().message.find("name another database"), std::string::npos);
  EXPECT_EQ(open_to()->head().seq, Seq{1});
}

TEST_F(NewLogs, KeysOfControllersAreALog) {
  ASSERT_TRUE(to->agreed_keys("theirs").ok());
  EXPECT_EQ(NewLog::begin(url, *to->begin_epoch("a")).error().code, "store_not_empty");
}

TEST_F(NewLogs, RowsThatDoNotContinueItAreNotTaken) {
  for (int i = 0; i < 3; ++i) add(1, 0);
  auto log = NewLog::begin(url, *to->begin_epoch("dove restore"));
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)->take(page(Seq{}, Epoch{})).ok());
  EXPECT_EQ((*log)->take(page(Seq{2}, epoch)).error().code, "log_differs");
}

TEST_F(NewLogs, WhoeverLedBeforeFillsNothing) {
  const Epoch former = *to->begin_epoch("dove restore");
  to->release();
  auto other = open_to();
  ASSERT_TRUE(other->begin_epoch("another").ok());
  EXPECT_EQ(NewLog::begin(url, former).error().code, "epoch_stale");
}

}  // namespace
}  // namespace dove::store
