// Which controllers are known after each other.
#include <gtest/gtest.h>

#include <chrono>

#include "store/postgres/connection.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/server_for_test.h"

namespace dove::store {
namespace {

// "": a program that is none.
std::unique_ptr<PostgresStore> controller(const std::string& url, const std::string& name) {
  PostgresOptions options;
  options.url = url;
  options.leads_at = name.empty() ? "" : "http://" + name;
  options.name = name;
  options.version = "1";
  auto store = PostgresStore::open(options);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? std::move(store).value() : nullptr;
}

TEST(PostgresTurns, WhoLedIsKnownAfterwards) {
  const std::string url = PostgresServer::instance().new_database();
  auto a = controller(url, "a");
  ASSERT_TRUE(a->begin_epoch("a").ok());
  a->release();
  auto b = controller(url, "b");
  ASSERT_TRUE(b->begin_epoch("b").ok());
  auto standbys = b->standbys();
  ASSERT_EQ(standbys->size(), 1u);
  EXPECT_EQ(standbys->front().name, "a");
  EXPECT_EQ(standbys->front().url, "http://a");
  EXPECT_EQ(standbys->front().version, "1");
  EXPECT_EQ(standbys->front().level, kNewestLevel);
  // A former version wrote no row when it led.
  auto line = Connection::open({url, "test", std::chrono::seconds(30)});
  ASSERT_TRUE(line.ok()) << line.error().message;
  ASSERT_TRUE(line->execute("DELETE FROM controllers").ok());
  b->release();
  ASSERT_TRUE(a->begin_epoch("a").ok());
  standbys = a->standbys();
  ASSERT_EQ(standbys->size(), 1u);
  EXPECT_EQ(standbys->front().name, "b");
  EXPECT_EQ(standbys->front().level, kFirstLevel);
  EXPECT_GE(standbys->front().ago_us, 60'000'000) << "it is not among those that are there";
  a->release();
  auto restore = controller(url, "");  // no controller
  ASSERT_TRUE(restore->begin_epoch("restore").ok());
  restore->release();
  ASSERT_TRUE(b->begin_epoch("b").ok());
  EXPECT_EQ(b->standbys()->size(), 1u);
}

}  // namespace
}  // namespace dove::store
