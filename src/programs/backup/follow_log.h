// `dove backup --follow`: keeps segments of a running server's log beside a backup until it is
// stopped. Calls block. One thread.
#pragma once

#include <atomic>
#include <string>

#include "base/result.h"
#include "model/time.h"
#include "programs/backup/backup_place.h"
#include "programs/backup/backup_source.h"
#include "programs/backup/segments.h"

namespace dove::programs {

// Until `stop` is set, looks for new records in the log of `from` each `every`, and once more at
// the end. While the place cannot be reached it says so once and tries again. Errors: what no other
// try mends.
Result<void> follow_log(const BackupSource& from, BackupPlace& place, const KeptTo& base,
                        Span every, const std::atomic<bool>& stop);

}  // namespace dove::programs
