// Events and decisions as bytes: the format of the log (no JSON on this path).
//
// Each record is: kind (varint), payload version (varint), then fields. Every kind has a number
// that is never reused and a version; older versions are upgraded while decoding, newer ones are
// refused with kCorrupt and the remedy. Integers are LEB128 varints (zig-zag when signed); strings
// and lists are counted; decoding never reads past the end and bounds every count by the bytes that
// are left.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"
#include "model/level.h"

namespace dove::codec {

// In the layouts of `level` (codec/layouts.h).
void encode(const StampedEvent& event, std::string& out, std::int32_t level = kNewestLevel);
void encode(const Decision& decision, std::string& out, std::int32_t level = kNewestLevel);
// What is left of the event once it was written at that level.
StampedEvent at_level(const StampedEvent& event, std::int32_t level);

// Accepts exactly one record that fills `bytes`. Fails with kCorrupt: `record_newer` when a newer
// program than those of `level` wrote it, else `record_damaged`.
Result<StampedEvent> decode_event(std::string_view bytes, std::int32_t level = kProgramLevel);
Result<Decision> decode_decision(std::string_view bytes, std::int32_t level = kProgramLevel);

// Digest over the encoded decisions, in order: what Batch::decisions_digest holds.
std::uint64_t digest_decisions(std::span<const Decision> decisions,
                               std::int32_t level = kNewestLevel);

// "JobSubmitted", "Launch": stable names, as in SQL columns, `dove events` and the API.
std::string_view kind_name(const Event& event);
std::string_view kind_name(const Decision& decision);

}  // namespace dove::codec
