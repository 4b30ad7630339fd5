// The tables of the log and the rules of their file. Internal to store/sqlite.
//
//   meta(key, value)   schema version; the anchor: where the log begins after retention; in_use: 1
//                      from the time it is opened for writing until it is closed in order
//   epochs             terms of controllership
//   batches, records   the log; `chain` is the hash of the row over all before it (chain.h)
//   blobs              by SHA-256; `seq` is the first record of the last batch that brought it
//   snapshots          the newest two
#pragma once

#include "base/result.h"
#include "store/sqlite/database.h"

namespace dove::store {

constexpr int kSchemaVersion = 1;

// Sets what each connection needs; with `writes` also WAL and full synchronisation.
Result<void> configure(Database& database, bool writes);
// Creates the tables of an empty file, and says whether it did; refuses a file of a newer program.
Result<bool> create_schema(Database& database);
// For read-only use: refuses an empty file and one of a newer program.
Result<void> check_schema(Database& database);

}  // namespace dove::store
