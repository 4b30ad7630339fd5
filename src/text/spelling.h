// What somebody who mistyped a word may have meant. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dove::text {

// The known word that is nearest to `word`, without regard to case, by Damerau's distance (two
// neighbours that are swapped count once). The first of two that are as near. "" when even that one
// is more than a typo or two away, or a third of a long word. Valid as long as `known`.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);
std::string_view nearest(std::string_view word, std::span<const std::string> known);

}  // namespace dove::text
