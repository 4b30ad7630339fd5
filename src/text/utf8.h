// The part of a text that is UTF-8 (RFC 3629: no surrogates, no overlong forms). Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace dove::text {

// The bytes before the first that is not part of a whole character; all of them when none is.
std::size_t utf8_bytes(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace dove::text
