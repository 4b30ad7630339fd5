// PostgresFacts: what a PostgreSQL says of itself and of the log in it, for whoever looks for what
// is wrong. Nothing is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/postgres_store.h"

namespace dove::store {

// One that follows the database's own log.
struct PostgresReplica {
  std::string name;
  std::string state;       // "streaming"
  std::string sync_state;  // "sync", "quorum", "potential", "async"
  std::int64_t behind_bytes = 0;
};

struct PostgresFacts {
  std::string version;           // "15.8 (Debian 15.8-1)"
  std::int64_t version_num = 0;  // 150008
  std::string where;             // address and port of the one that takes writes
  LineSafety line;               // of the connection to it
  std::string data_directory;    // on the database's machine; "": not this role's to see
  std::string fsync, full_page_writes, data_checksums;
  std::string synchronous_commit;  // as the writer of the log has it
  std::string synchronous_standby_names;
  std::int64_t connections_used = 0, connections_max = 0;
  std::int64_t database_bytes = 0;
  // The database's clock less this machine's, by the middle of a question and its answer, and by
  // how much that may be wrong.
  std::int64_t ahead_us = 0, doubt_us = 0;
  bool may_create = false;        // a schema in the database
  bool may_see_replicas = false;  // all that it says of them
  std::vector<PostgresReplica> replicas;
  bool has_log = false;    // the rest is known only then
  bool may_write = false;  // all tables
  std::int64_t schema_version = 0;
  std::optional<LeaderSeen> leader;
  std::vector<ControllerSeen> standbys;
  std::int64_t records = 0;  // about
  std::optional<Seq> snapshot;
  // The chain of the last records: after which one it was read, up to which, and what is wrong.
  Seq chain_after, chain_to;
  std::optional<Error> chain_error;
};

// `url` as PostgresOptions::url; the chain of as many records as `records_max` is read. Errors as
// PostgresStore::open().
Result<PostgresFacts> look_at_postgres(const std::string& url, std::uint64_t records_max);

}  // namespace dove::store
