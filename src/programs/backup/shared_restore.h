// dove restore --in-place --store URL: a log in PostgreSQL goes on after records of it were lost.
// Calls block. One thread.
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

}  // namespace dove::programs
