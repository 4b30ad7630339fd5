// What somebody wrote, as a message may repeat it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dove::text {

// At most 80 bytes of whole characters, control characters as '?'.
std::string shown(std::string_view text);

}  // namespace dove::text
