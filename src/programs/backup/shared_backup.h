// dove backup --store URL: a log in PostgreSQL, while its controllers run, as one in SQLite. It
// asks none of them, so any controller's machine can make it. Calls block. One thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "programs/backup/backup_source.h"
#include "store/postgres/postgres_store.h"

namespace dove::programs {

// Copies the log of one instant into `to`, a directory that has none; every page is verified before
// it is written, the copy is folded, and what is in memory does not grow with the log. Errors:
// kConflict `keys_differ` unless `from.data` holds the keys of this log; kUnavailable
// `secrets_key_missing` where it lacks the one of its secrets; kUnavailable `broken_off`; those of
// the database and of the disk, which say that nothing is kept.
Result<void> copy_shared_log(const BackupSource& from, const std::string& to);

// What its controllers remember of the notices that they sent, as a notices.json; "": nothing.
Result<std::string> shared_notices_of(const BackupSource& from);

// The log of `store`, for reading alone.
Result<std::unique_ptr<store::PostgresStore>> open_to_read(const std::string& url);

}  // namespace dove::programs
