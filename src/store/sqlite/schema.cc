#include "store/sqlite/schema.h"

#include <fmt/format.h>

namespace dove::store {
namespace {

constexpr char kTables[] = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE epochs(epoch INTEGER PRIMARY KEY, holder TEXT NOT NULL, after_seq INTEGER NOT NULL);
CREATE TABLE batches(
  batch INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, at_us INTEGER NOT NULL,
  first_seq INTEGER NOT NULL, events INTEGER NOT NULL, decisions INTEGER NOT NULL,
  decisions_digest INTEGER NOT NULL, state_hash INTEGER, chain BLOB NOT NULL);
CREATE TABLE records(
  seq INTEGER PRIMARY KEY, batch INTEGER NOT NULL, is_decision INTEGER NOT NULL,
  kind TEXT NOT NULL, job INTEGER, node INTEGER, body BLOB NOT NULL, chain BLOB NOT NULL);
CREATE TABLE blobs(sha256 TEXT PRIMARY KEY, seq INTEGER NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE snapshots(
  seq INTEGER PRIMARY KEY, batch INTEGER NOT NULL, epoch INTEGER NOT NULL, at_us INTEGER NOT NULL,
  chain BLOB NOT NULL, state_hash INTEGER NOT NULL, sha256 BLOB NOT NULL, bytes BLOB NOT NULL);
INSERT INTO meta VALUES
  ('schema_version', 1), ('anchor_seq', 0), ('anchor_batch', 0), ('anchor_chain', zeroblob(32));
)sql";

Result<void> check_version(std::int64_t version) {
  if (version <= kSchemaVersion) return {};
  return Error{ErrorKind::kConflict, "data_newer",
               fmt::format("log.sqlite was written by a newer dove (schema {}, this one knows {}): "
                           "run that version or a later one",
                           version, kSchemaVersion),
               ""};
}

constexpr char kVersion[] = "SELECT value FROM meta WHERE key = 'schema_version'";
constexpr char kTableCount[] = "SELECT count(*) FROM sqlite_schema";

}  // namespace

Result<void> configure(Database& database, bool writes) {
  // What is deleted by retention need not be overwritten with zeros.
  TRY(
      database.execute("PRAGMA secure_delete = OFF; PRAGMA cache_size = -8192;"
                       "PRAGMA trusted_schema = OFF"));
  if (!writes) return database.execute("PRAGMA query_only = ON");
  return database.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;"
      "PRAGMA journal_size_limit = 67108864");
}

Result<bool> create_schema(Database& database) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(database, Transaction::Kind::kWrite));
  TRY_ASSIGN(const auto tables, database.number(kTableCount));
  if (tables.value_or(0) == 0) {
    TRY(database.execute(kTables));
    TRY(transaction.commit());
    return true;
  }
  TRY_ASSIGN(const auto version, database.number(kVersion));
  TRY(check_version(version.value_or(kSchemaVersion + 1)));
  return false;
}

Result<void> check_schema(Database& database) {
  TRY_ASSIGN(const auto tables, database.number(kTableCount));
  if (tables.value_or(0) == 0) {
    return Error{ErrorKind::kNotFound, "data_empty",
                 "the directory holds no log yet: name the data directory of a server (--data)",
                 ""};
  }
  TRY_ASSIGN(const auto version, database.number(kVersion));
  return check_version(version.value_or(kSchemaVersion + 1));
}

}  // namespace dove::store
