// Choice: a variant of dozens of alternatives, whose copies, moves and end are compiled once.
//
// What copies, moves and ends a std::variant takes a function for each alternative, and each file
// that has one gets them all: with a plain variant for Event, half of the time that it took to
// compile a test went there. std::visit, std::get_if and std::holds_alternative take a Choice as
// the variant that it is.
//
// For each one, a struct names the variant, so that names of functions stay short: `struct
// EventKinds { using Variant = std::variant<…>; };`. The header says `extern template class
// Choice<EventKinds>;`, and its source file includes model/choice_members.h and says `template
// class Choice<EventKinds>;`.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace dove {

template <class Variant, class T>
inline constexpr bool is_alternative = false;
template <class... Kinds, class T>
inline constexpr bool is_alternative<std::variant<Kinds...>, T> = (std::is_same_v<Kinds, T> || ...);

template <class T, class Variant>
concept OneOf = is_alternative<Variant, T>;

template <class Names>
class Choice : public Names::Variant {
 public:
  using Kinds = typename Names::Variant;

  Choice();
  template <OneOf<Kinds> T>
  Choice(T value) : Kinds(std::in_place_type<T>, std::move(value)) {}
  Choice(const Choice&);
  Choice(Choice&&) noexcept;
  Choice& operator=(const Choice&);
  Choice& operator=(Choice&&) noexcept;
  ~Choice();
};

}  // namespace dove
