// Points of time in the syntax of Slurm's accounting commands (-S, -E). Pure except for the local
// time zone; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::cli {

// Microseconds UTC of "2026-11-22", "2026-11-22T08:30[:00]", "11/22[/26][-08:30]", "1122[26]",
// "08:30[:00] [PM]" (of today), "now", "now-2days", "today", "yesterday",
// "tomorrow", "midnight", "noon", "uts1763800000"; days begin at 00:00 local time.
Result<std::int64_t> parse_slurm_time(const std::string& text, std::int64_t now_us);

}  // namespace dove::cli
