// Lengths and points of time as people read them. Pure but for the local time zone; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dove::cli {

// Slurm's form: "0:05", "12:34", "1:02:03", "2-03:04:05". Negative counts as 0.
std::string clock_text(std::int64_t span_us);
// For prose and columns: "0.4s", "12s", "3m 20s", "2h 5m", "3d 4h".
std::string span_text(std::int64_t span_us);
// "2026-08-30T14:05:59" in local time, "N/A" for 0 (as Slurm writes it).
std::string local_time_text(std::int64_t at_us);
// "Sun Aug 30 14:05:59 2026" in local time, as ctime(3) writes it.
std::string calendar_text(std::int64_t at_us);
// "2026-08-30 14:05:59" in local time, "-" for 0.
std::string when_text(std::int64_t at_us);
// "2026-08-30 14:05:59 CEST": likewise, for prose.
std::string zoned_text(std::int64_t at_us);
// The server's prose with its times ("2026-08-30T12:05:59.25Z", "2026-08-30 12:05:59 UTC") as
// zoned_text() writes them.
std::string with_local_times(std::string text);
// "30", "30s", "5m", "2h", "1d", "10ms" in microseconds; no unit is seconds.
std::optional<std::int64_t> parse_span_us(std::string_view text);
// Local time = UTC + this, at `at_us`.
std::int32_t utc_offset_s(std::int64_t at_us);
// "512M", "1.5G", "64G"; binary units.
std::string bytes_text(std::int64_t bytes);

}  // namespace dove::cli
