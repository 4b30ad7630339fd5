// dove restore --store URL: a log in PostgreSQL goes on after records of it were lost (--in-place),
// or comes from a backup. Calls block. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/ids.h"

namespace dove::programs {

// Takes the leader's lease, verifies all that the database holds, and makes its log go on as a new
// incarnation with the next controller that leads; `now_s`, since 1970, names it. The last record.
// All or nothing. Errors: kConflict `lease_held` and `controllers_run` while there are controllers;
// kNotFound `data_empty`; kCorrupt with the first damage; those of PostgresStore::open() and
// begin_incarnation().
Result<Seq> restore_shared(const std::string& url, std::int64_t now_s);

// `store_not_empty`, with the remedy, unless the database at `url` holds no log; makes its tables.
Result<void> check_empty_store(const std::string& url);

// Moves the log in `directory`, which is verified and which nobody has open, into that empty
// database, and reads it there again: the directory keeps the keys, as that of a controller with
// --store. Once the database holds the log, errors say that it does.
Result<void> move_to_store(const std::string& directory, const std::string& url);

}  // namespace dove::programs
