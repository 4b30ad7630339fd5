// A backup's directory in a bucket: its files, large ones in parts, and last PREFIX/whole.json,
// which lists them. Without that the backup is none. Calls block. One thread.
#pragma once

#include <string>

#include "base/result.h"
#include "programs/backup/backup_place.h"

namespace dove::programs {

// Errors: kConflict `backup_exists`; those of the place.
Result<void> upload_backup(const std::string& from, BackupPlace& to);
// Into a directory that is there and empty. Errors: kNotFound `no_backup`; kCorrupt
// `backup_damaged`; those of the place.
Result<void> download_backup(BackupPlace& from, const std::string& to);
Result<bool> is_uploaded(BackupPlace& place);

}  // namespace dove::programs
