// Segments: the records that came after a backup, kept beside it as they are written.
//
//   segments/AFTER      the batches that follow record AFTER (20 digits), as they are stored, the
//                       terms, and what their jobs run; with the digest of all that
//   segments/last.json  the last record that was kept, and its chain
//
// Each one names the next by where it ends, so nothing needs a list. Calls block. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "programs/backup/backup_place.h"
#include "store/sqlite/cut.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {

// Up to where a backup and its segments hold a log.
struct KeptTo {
  Seq head;
  Epoch epoch;
  std::string chain;  // of that record, hex
};

// What the backup at `place` holds with its segments; `base` without any.
Result<KeptTo> kept_to(BackupPlace& place, const KeptTo& base);

// Keeps one more segment of the log, whose chain is verified before; false: there is nothing new.
// Moves `kept` on; after an error it is read anew (kept_to), since nobody knows what the place has.
// Errors: kConflict `log_differs`, `backup_followed_twice`, kNotFound `records_forgotten`, all with
// the remedy; those of the place.
// `rows` are those of `log`.
Result<bool> keep_segment(store::LogStore& log, store::LogSource& rows, BackupPlace& place,
                          KeptTo& kept);

// Adds the segments at `place` to the log that was restored in `directory`, up to the first one
// that reaches `until`. Errors: kCorrupt `backup_damaged`, also for one that is missing.
Result<void> add_segments(BackupPlace& place, const std::string& directory,
                          const store::CutPoint& until);

}  // namespace dove::programs
