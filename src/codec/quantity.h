// Amounts, times and instants as people and Kubernetes write them, and back.
//
// Pure. Errors are kInvalid (`bad_value`) with an empty field: the caller knows the place; the
// message shows the accepted forms. Nothing overflows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/time.h"

namespace dove::codec {

// "1280Gi", "4G" (10^9), "512", "1.5Ti", "100KB": bytes, rounded up.
Result<std::int64_t> parse_bytes(std::string_view text);
// "2", "0.5", "500m": thousandths, rounded up.
Result<std::int64_t> parse_milli(std::string_view text);
// "2h", "1h30m", "45s", "500ms", "3d", "90" (seconds), "MM:SS", "HH:MM:SS", "D-HH:MM:SS"; at most
// 100 years.
Result<Span> parse_span(std::string_view text);
// RFC 3339: "2026-01-02T03:04:05Z", with a fraction and an offset if wanted.
Result<Instant> parse_instant(std::string_view text);

// "1g.10gb", "mig-1g.10gb", "nvidia.com/mig-1g.10gb": the profile of a slice, as Request has it.
Result<std::string> parse_slice(std::string_view text);

// "64 GiB", "1.5 TiB", "512 B": for people.
std::string human_bytes(std::int64_t bytes);
// An amount of a countable: "512 MiB" of huge pages, "3" of others.
std::string human_amount(std::string_view countable, std::int64_t amount);
// "2h 5m", "30s", "3d 4h": for people; the two largest units.
std::string human_span(Span span);
// "2026-01-02T03:04:05.000006Z". REQUIRES: not kNever.
std::string rfc3339(Instant at);

}  // namespace dove::codec
