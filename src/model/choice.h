// OneOf: the alternatives of a variant, for classes that are one with copies, moves and an end that
// are compiled once.
//
// What copies, moves and ends a std::variant of dozens of alternatives takes a function for each of
// them, and each file that has one gets them all: with a plain variant for Event, half of the time
// that it took to compile a test went there. std::visit, std::get_if and std::holds_alternative
// take such a class as the variant that it is.
#pragma once

#include <type_traits>
#include <variant>

namespace dove {

template <class Variant, class T>
inline constexpr bool is_alternative = false;
template <class... Kinds, class T>
inline constexpr bool is_alternative<std::variant<Kinds...>, T> = (std::is_same_v<Kinds, T> || ...);

template <class T, class Variant>
concept OneOf = is_alternative<Variant, T>;

}  // namespace dove
