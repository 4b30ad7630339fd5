// Text inside a page of HTML, also inside a quoted attribute. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dove::text {

// Control characters become spaces, but for line ends and tabs.
std::string html_escaped(std::string_view text);

}  // namespace dove::text
