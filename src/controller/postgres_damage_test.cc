// What random damage to the tables of a log does: the controller does not start, and says where and
// what to do, or it starts with the very state that was written. DOVE_DAMAGES says how many (make
// test-corruption: 2000), DOVE_SEED which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "controller/damage_fixture.h"
#include "policies/standard.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/server_for_test.h"

namespace dove::controller {
namespace {

using store::Connection;
using store::PostgresServer;
using store::PostgresStore;

enum class Kind { kNumber, kText, kBytes, kInstant };

struct Column {
  const char* name;
  Kind kind;
};

struct Table {
  const char* name;
  std::vector<Column> columns;  // its key first
};

const std::vector<Table>& tables() {
  constexpr Kind n = Kind::kNumber, t = Kind::kText, b = Kind::kBytes, i = Kind::kInstant;
  static const std::vector<Table> all{
      {"meta", {{"key", t}, {"number", n}, {"bytes", b}}},
      {"epochs", {{"epoch", n}, {"holder", t}, {"after_seq", n}}},
      {"batches",
       {{"batch", n},
        {"epoch", n},
        {"at_us", n},
        {"first_seq", n},
        {"events", n},
        {"decisions", n},
        {"decisions_digest", n},
        {"state_hash", n},
        {"chain", b}}},
      {"records",
       {{"seq", n},
        {"batch", n},
        {"is_decision", n},
        {"kind", t},
        {"job", n},
        {"node", n},
        {"body", b},
        {"chain", b}}},
      {"blobs", {{"sha256", t}, {"seq", n}, {"bytes", b}}},
      {"snapshots",
       {{"seq", n},
        {"batch", n},
        {"epoch", n},
        {"at_us", n},
        {"chain", b},
        {"state_hash", n},
        {"sha256", b},
        {"bytes", b}}},
      {"leader", {{"id", n}, {"epoch", n}, {"holder", t}, {"url", t}, {"until", i}}},
      {"handed", {{"id", n}, {"name", t}, {"until", i}}},
  };
  return all;
}

// A copy of all tables in a schema of its own, and back.
void keep(Connection& line, const char* schema) {
  ASSERT_TRUE(line.execute(fmt::format("CREATE SCHEMA {}", schema).c_str()).ok());
  for (const Table& table : tables()) {
    const auto sql =
        fmt::format("CREATE TABLE {}.{} AS TABLE dove.{}", schema, table.name, table.name);
    ASSERT_TRUE(line.execute(sql.c_str()).ok());
  }
}

std::string put_back(const Table& table, const char* schema) {
  return fmt::format("DELETE FROM dove.{0}; INSERT INTO dove.{0} SELECT * FROM {1}.{0};",
                     table.name, schema);
}

class TableDamager {
 public:
  TableDamager(Connection& line, std::uint64_t seed) : line_(line), random_(seed) {}

  // Changes rows of one table, and says how.
  std::string damage() {
    for (;;) {
      const Table& table = tables()[below(tables().size())];
      const std::string sql = change(table);
      // A key that is there already, or a null that may not be: no damage that a table could have.
      if (!sql.empty() && line_.execute(sql.c_str()).ok()) return sql;
    }
  }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }

  std::string where(const Table& table) {
    const auto found = line_.run(fmt::format("SELECT {0}::text FROM dove.{1} ORDER BY random()",
                                             table.columns[0].name, table.name)
                                     .c_str());
    if (!found.ok() || found->size() == 0) return "";
    const int row = static_cast<int>(below(static_cast<std::size_t>(found->size())));
    return fmt::format("{}::text = '{}'", table.columns[0].name, found->bytes(row, 0));
  }

  std::string changed(const Column& column) {
    const char* c = column.name;
    switch (column.kind) {
      case Kind::kNumber:
        if (below(2) == 0) return fmt::format("coalesce({}, 0) + {}", c, below(2) == 0 ? 1 : -1);
        return fmt::format("coalesce({}, 0) # (1::bigint << {})", c, below(64));
      case Kind::kText:
        return below(2) == 0 ? fmt::format("{} || 'x'", c)
                             : fmt::format("left({0}, {1})", c, below(12));
      case Kind::kInstant:
        return fmt::format("{} + interval '{} seconds'", c,
                           static_cast<std::int64_t>(below(2'000'000)) - 1'000'000);
      case Kind::kBytes:
        break;
    }
    const std::string at = fmt::format("{} % greatest(length({}), 1)", below(1 << 20), c);
    switch (below(3)) {
      case 0:
        return fmt::format("set_byte({0}, {1}, get_byte({0}, {1}) # {2})", c, at, 1 << below(8));
      case 1:
        return fmt::format("substring({} for {})", c, at);
      default:  // its end was not written
        return fmt::format(
            "substring({0} for {1}) || decode(repeat('00', length({0}) - {1}), 'hex')", c, at);
    }
  }

  std::string change(const Table& table) {
    const std::string row = where(table);
    if (row.empty()) return "";
    const Column& column = table.columns[below(table.columns.size())];
    const char* key = table.columns[0].name;
    switch (below(8)) {
      case 0:
        return fmt::format("DELETE FROM dove.{} WHERE {}", table.name, row);
      case 1:  // it, and all behind or before it
        return fmt::format(
            "DELETE FROM dove.{0} WHERE {1} {2} (SELECT {1} FROM dove.{0} WHERE {3})", table.name,
            key, below(2) == 0 ? ">=" : "<=", row);
      case 2: {  // two rows have changed places
        const std::string other = where(table);
        if (row == other || column.name == key) return "";
        return fmt::format(
            "UPDATE dove.{0} SET {1} = CASE WHEN {2} THEN (SELECT {1} FROM dove.{0} WHERE {3}) "
            "ELSE "
            "(SELECT {1} FROM dove.{0} WHERE {2}) END WHERE {2} OR {3}",
            table.name, column.name, row, other);
      }
      case 3: {  // once more, behind the last
        std::string values = table.columns[0].kind == Kind::kNumber
                                 ? fmt::format("(SELECT max({}) + 1 FROM dove.{})", key, table.name)
                                 : fmt::format("{} || 'x'", key);
        for (std::size_t i = 1; i < table.columns.size(); ++i) {
          values += fmt::format(", {}", table.columns[i].name);
        }
        return fmt::format("INSERT INTO dove.{0} SELECT {1} FROM dove.{0} WHERE {2}", table.name,
                           values, row);
      }
      case 4:
        return put_back(table, "earlier");
      default:
        return fmt::format("UPDATE dove.{} SET {} = {} WHERE {}", table.name, column.name,
                           changed(column), row);
    }
  }

  Connection& line_;
  std::mt19937_64 random_;
};

class PostgresDamage : public testing::Test {
 protected:
  // Without PostgreSQL, the program's other tests run.
  static void SetUpTestSuite() { store::PostgresEnvironment().SetUp(); }
  static void TearDownTestSuite() { store::PostgresEnvironment().TearDown(); }

  void SetUp() override {
    if (store::postgres_programs().empty()) GTEST_SKIP() << "PostgreSQL is missing";
    url_ = PostgresServer::instance().new_database();
    live(20, 5'000'000);
    auto line = Connection::open({url_, "test", std::chrono::seconds(30)});
    line_.emplace(std::move(line).value());
    keep(*line_, "earlier");
    live(25, 60);
    keep(*line_, "whole");
    whole_ = start();
    EXPECT_FALSE(whole_.refused.has_value()) << whole_.refused->message;
  }

  void live(int jobs, std::uint64_t records_kept) const {
    auto store = PostgresStore::open({url_, "http://a"});
    ASSERT_TRUE(store.ok()) << store.error().message;
    controller::live(**store, **store, policies::standard_policies(), jobs, records_kept);
  }

  StartMade start() const {
    StartMade made;
    const auto run = [&]() -> Result<void> {
      TRY_ASSIGN(auto store, PostgresStore::open({url_, "http://a"}));
      return start_on(*store, policies::standard_policies(), made);
    };
    const Result<void> done = run();
    if (!done.ok()) made.refused = done.error();
    return made;
  }

  void make_whole() {
    std::string sql = "BEGIN;";
    for (const Table& table : tables()) sql += put_back(table, "whole");
    ASSERT_TRUE(line_->execute((sql + "COMMIT").c_str()).ok());
  }

  std::string url_;
  std::optional<Connection> line_;
  StartMade whole_;
};

TEST_F(PostgresDamage, IsFoundOrHarmlessAndNeverTaken) {
  const std::uint64_t seed = files::damage_seed();
  TableDamager damager(*line_, seed);
  expect_none_taken(seed, [&](std::uint64_t) {
    make_whole();
    std::string how = damager.damage();
    std::string said = apart([&] {
      return judge(start(), whole_, {"record", "dove.", "table ", "snapshot", "schema", "lease"});
    });
    return std::pair(std::move(how), std::move(said));
  });
}

}  // namespace
}  // namespace dove::controller
