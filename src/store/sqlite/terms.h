// The terms of a log (table `epochs`): no chain goes over them, so each number is checked against
// the one before. Internal to store/sqlite.
#pragma once

#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "store/sqlite/database.h"

namespace dove::store {

// Each is one more than the one before, or begins an incarnation (begin_incarnation). kCorrupt
// `data_damaged` when one is not, or the last batch is of a later one than the last; 0: none yet.
Result<Epoch> newest_term(Database& database, Epoch of_head, const std::string& directory);

// The term before the first one of a log that is restored at `now_s`.
Result<void> begin_incarnation(Database& database, Seq head, std::int64_t now_s);

}  // namespace dove::store
