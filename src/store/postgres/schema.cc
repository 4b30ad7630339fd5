#include "store/postgres/schema.h"

#include <fmt/format.h>

namespace dove::store {
namespace {

// An append holds the row of the leader FOR KEY SHARE, which lets the lease be renewed meanwhile,
// and keeps a new term (FOR UPDATE) waiting.
constexpr char kTables[] = R"sql(
CREATE SCHEMA IF NOT EXISTS dove;
CREATE TABLE meta(key TEXT PRIMARY KEY, number BIGINT, bytes BYTEA);
CREATE TABLE epochs(epoch BIGINT PRIMARY KEY, holder TEXT NOT NULL, after_seq BIGINT NOT NULL);
CREATE TABLE batches(
  batch BIGINT PRIMARY KEY, epoch BIGINT NOT NULL, at_us BIGINT NOT NULL,
  first_seq BIGINT NOT NULL, events BIGINT NOT NULL, decisions BIGINT NOT NULL,
  decisions_digest BIGINT NOT NULL, state_hash BIGINT, chain BYTEA NOT NULL);
CREATE TABLE records(
  seq BIGINT PRIMARY KEY, batch BIGINT NOT NULL, is_decision BIGINT NOT NULL,
  kind TEXT NOT NULL, job BIGINT, node BIGINT, body BYTEA NOT NULL, chain BYTEA NOT NULL);
CREATE TABLE blobs(sha256 TEXT PRIMARY KEY, seq BIGINT NOT NULL, bytes BYTEA NOT NULL);
CREATE TABLE snapshots(
  seq BIGINT PRIMARY KEY, batch BIGINT NOT NULL, epoch BIGINT NOT NULL, at_us BIGINT NOT NULL,
  chain BYTEA NOT NULL, state_hash BIGINT NOT NULL, sha256 BYTEA NOT NULL, bytes BYTEA NOT NULL);
CREATE TABLE leader(
  id BIGINT PRIMARY KEY CHECK (id = 1), epoch BIGINT NOT NULL, holder TEXT NOT NULL,
  url TEXT NOT NULL, until TIMESTAMPTZ NOT NULL);
CREATE FUNCTION hold_epoch(mine BIGINT, last BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE newest BIGINT; stored BIGINT;
BEGIN
  SELECT epoch INTO newest FROM dove.leader WHERE id = 1 FOR KEY SHARE;
  IF newest IS DISTINCT FROM mine THEN
    RAISE EXCEPTION 'the log is at epoch %', newest USING ERRCODE = 'DV001';
  END IF;
  SELECT coalesce(max(batch), (SELECT number FROM dove.meta WHERE key = 'anchor_batch'))
    INTO stored FROM dove.batches;
  IF stored <> last THEN
    RAISE EXCEPTION 'the log ends with batch %', stored USING ERRCODE = 'DV002';
  END IF;
  RETURN stored;
END $$;
INSERT INTO leader VALUES (1, 0, '', '', 'epoch');
INSERT INTO meta VALUES
  ('schema_version', 1, NULL), ('anchor_seq', 0, NULL), ('anchor_batch', 0, NULL),
  ('anchor_chain', NULL, decode(repeat('00', 32), 'hex'));
)sql";

// Came later. A controller of a former version works without them.
constexpr char kLaterTables[] = R"sql(
CREATE TABLE controllers(
  name TEXT PRIMARY KEY, url TEXT NOT NULL, version TEXT NOT NULL, folded BIGINT NOT NULL,
  seen TIMESTAMPTZ NOT NULL);
CREATE TABLE handed(
  id BIGINT PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL, until TIMESTAMPTZ NOT NULL);
INSERT INTO handed VALUES (1, '', 'epoch');
)sql";

constexpr char kAlone[] = "SELECT pg_advisory_xact_lock(7717)";

Result<void> check_version(Connection& connection) {
  TRY_ASSIGN(const Rows rows,
             connection.run("SELECT number FROM dove.meta WHERE key = 'schema_version'"));
  const std::int64_t version = rows.size() == 1 ? rows.integer(0, 0) : kPgSchemaVersion + 1;
  if (version <= kPgSchemaVersion) return {};
  return Error{ErrorKind::kConflict, "data_newer",
               fmt::format("the data were written by a newer dove (schema {}, this one knows {}): "
                           "run that version or a later one",
                           version, kPgSchemaVersion),
               ""};
}

}  // namespace

Result<void> make_schema(Connection& connection) {
  TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(connection, "BEGIN"));
  TRY(connection.run(kAlone));
  TRY_ASSIGN(const Rows tables, connection.run("SELECT to_regclass('dove.meta') IS NOT NULL, "
                                               "to_regclass('dove.handed') IS NOT NULL"));
  const bool has_log = tables.integer(0, 0) != 0;
  if (has_log) TRY(check_version(connection));
  if (has_log && tables.integer(0, 1) != 0) return {};
  if (!has_log) TRY(connection.execute(kTables));
  TRY(connection.execute(kLaterTables));
  return transaction.commit();
}

Result<void> check_schema(Connection& connection) {
  TRY_ASSIGN(const Rows tables, connection.run("SELECT to_regclass('dove.meta') IS NOT NULL"));
  if (tables.integer(0, 0) != 0) return check_version(connection);
  return Error{ErrorKind::kNotFound, "no_log",
               "the database holds no log: name the one that `dove server --store` has", "store"};
}

}  // namespace dove::store
