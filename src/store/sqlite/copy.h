// A copy of a log, of one instant, while its server may run.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::store {

// Copies the log in the directory `from` into `to`, a directory that exists and has none, and syncs
// it. The copy counts as closed in order. The writer is not held up; its log.sqlite-wal grows
// meanwhile. Errors: those of SqliteStore::open when read-only, kExhausted `disk_full`, kInternal.
Result<void> copy_log(const std::string& from, const std::string& to);

// The file of a log that is to be: empty, 0600. Errors: `file_unwritable`, also where one is there.
Result<void> make_log_file(const std::string& path);
// What was written to it is on the disk. Errors: as above, kExhausted `disk_full`.
Result<void> sync_log_file(const std::string& path);

}  // namespace dove::store
