// Hostlists: patterns of node names, such as "gpu-[001-004,7]", "a1,a2", or "*" for every node.
//
// A range counts with the width of its first number: [001-004] is 001 to 004, [1-10] is 1 to 10.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dove::core {

// Malformed patterns match nothing.
bool hostlist_holds(std::string_view pattern, std::string_view name);
bool any_hostlist_holds(const std::vector<std::string>& patterns, std::string_view name);

}  // namespace dove::core
