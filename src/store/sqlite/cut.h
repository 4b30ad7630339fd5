// cut_log: ends a log that is to go on as a new incarnation (model/incarnation.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "model/time.h"

namespace dove::store {

// The last batch at or before it; neither: the end of the log.
struct CutPoint {
  std::optional<Instant> at;
  std::optional<Seq> seq;
};

struct CutFacts {
  Seq head;  // the last record now
  Instant at;
  std::uint64_t dropped = 0;  // records
};

// Drops what comes after `point`, snapshots too, and makes the log begin an incarnation with the
// next controller that opens it. All or nothing; the log's chain is verified before by whoever
// calls. Blocks. REQUIRES: nobody else has the directory open. Errors: kInvalid `restore_too_early`
// when the log, or its first snapshot where it has lost its beginning, begins after `point`; those
// of SqliteStore::open.
Result<CutFacts> cut_log(const std::string& directory, const CutPoint& point, std::int64_t now_s);

}  // namespace dove::store
