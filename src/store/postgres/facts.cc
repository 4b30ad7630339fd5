#include "store/postgres/facts.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "store/postgres/connection.h"
#include "store/postgres/log_tables.h"

namespace dove::store {
namespace {

constexpr std::chrono::seconds kPatience{10};

std::int64_t wall_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

std::string text(const Rows& rows, int column) { return std::string(rows.bytes(0, column)); }

Result<void> look_at_settings(Connection& line, PostgresFacts& facts) {
  TRY_ASSIGN(
      const Rows rows,
      line.run("SELECT current_setting('server_version'), "
               "current_setting('server_version_num')::bigint, "
               "coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'a socket here'), "
               "current_setting('fsync'), current_setting('full_page_writes'), "
               "current_setting('data_checksums'), current_setting('synchronous_commit'), "
               "current_setting('synchronous_standby_names'), "
               "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
               "current_setting('max_connections')::bigint, "
               "pg_database_size(current_database()), "
               "has_database_privilege(current_database(), 'CREATE'), "
               "pg_has_role('pg_monitor', 'USAGE'), "
               "coalesce((SELECT setting FROM pg_settings WHERE name = 'data_directory'), '')"));
  facts.version = text(rows, 0);
  facts.version_num = rows.integer(0, 1);
  facts.where = text(rows, 2);
  facts.fsync = text(rows, 3);
  facts.full_page_writes = text(rows, 4);
  facts.data_checksums = text(rows, 5);
  facts.synchronous_commit = text(rows, 6);
  facts.synchronous_standby_names = text(rows, 7);
  facts.connections_used = rows.integer(0, 8);
  facts.connections_max = rows.integer(0, 9);
  facts.database_bytes = rows.integer(0, 10);
  facts.may_create = rows.integer(0, 11) != 0;
  facts.may_see_replicas = rows.integer(0, 12) != 0;
  facts.data_directory = text(rows, 13);
  return {};
}

Result<void> look_at_clock(Connection& line, PostgresFacts& facts) {
  const std::int64_t asked_us = wall_us();
  TRY_ASSIGN(const Rows rows,
             line.run("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"));
  const std::int64_t heard_us = wall_us();
  facts.ahead_us = rows.integer(0, 0) - (asked_us + heard_us) / 2;
  facts.doubt_us = (heard_us - asked_us) / 2;
  return {};
}

Result<void> look_at_replicas(Connection& line, PostgresFacts& facts) {
  TRY_ASSIGN(
      const Rows rows,
      line.run("SELECT coalesce(application_name, ''), coalesce(state, ''), coalesce(sync_state, "
               "''), coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint FROM "
               "pg_stat_replication ORDER BY application_name LIMIT 100"));
  for (int row = 0; row < rows.size(); ++row) {
    facts.replicas.push_back({std::string(rows.bytes(row, 0)), std::string(rows.bytes(row, 1)),
                              std::string(rows.bytes(row, 2)), rows.integer(row, 3)});
  }
  return {};
}

Result<void> look_at_log(Connection& line, PostgresFacts& facts) {
  TRY_ASSIGN(
      const Rows rows,
      line.run(
          "SELECT (SELECT number FROM dove.meta WHERE key = 'schema_version'), "
          "(SELECT bool_and(has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, "
          "'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) FROM pg_class c JOIN "
          "pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'dove' AND c.relkind = "
          "'r'), (SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM "
          "dove.records), (SELECT max(seq) FROM dove.snapshots)"));
  facts.schema_version = rows.integer(0, 0);
  facts.may_write = rows.integer(0, 1) != 0;
  facts.records = rows.integer(0, 2);
  if (!rows.is_null(0, 3)) facts.snapshot = Seq{rows.unsigned_integer(0, 3)};
  return {};
}

Result<void> read_chain(Connection& line, std::uint64_t records_max, PostgresFacts& facts) {
  LogTables tables(line);
  TRY_ASSIGN(const PgHead head, tables.head());
  TRY_ASSIGN(const Anchor anchor, tables.anchor());
  const std::uint64_t end = head.head.seq.value;
  facts.chain_after = std::max(anchor.seq, Seq{end - std::min(end, records_max)});
  facts.chain_to = facts.chain_after;
  TRY(tables.read(facts.chain_after, std::nullopt, [&](const Batch& batch) {
    facts.chain_to = Seq{batch.first_seq.value + batch.events.size() + batch.decisions.size() - 1};
    return true;
  }));
  return {};
}

}  // namespace

Result<PostgresFacts> look_at_postgres(const std::string& url, std::uint64_t records_max) {
  TRY(check_store_url(url));
  TRY_ASSIGN(Connection line, Connection::open({url, "dove doctor", kPatience}));
  PostgresFacts facts;
  facts.line = line.safety();
  TRY(look_at_settings(line, facts));
  TRY(look_at_clock(line, facts));
  TRY(look_at_replicas(line, facts));
  TRY_ASSIGN(const Rows tables, line.run("SELECT to_regclass('dove.meta') IS NOT NULL, "
                                         "to_regclass('dove.handed') IS NOT NULL"));
  facts.has_log = tables.integer(0, 0) != 0;
  if (!facts.has_log) return facts;
  TRY(look_at_log(line, facts));
  if (const auto read = read_chain(line, records_max, facts); !read.ok()) {
    facts.chain_error = read.error();
    if (line.is_over()) return facts;
  }
  if (tables.integer(0, 1) == 0) return facts;  // of a former version
  TRY_ASSIGN(facts.leader, leader_of(line, ""));
  TRY_ASSIGN(facts.standbys, standbys_of(line, ""));
  return facts;
}

}  // namespace dove::store
