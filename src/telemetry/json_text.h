// JSON strings, for the few lines of JSON that are written without a JSON library.
//
// Pure and thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace dove::telemetry {

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so the
// result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

}  // namespace dove::telemetry
