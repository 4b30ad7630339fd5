// Incarnations: how often a cluster's log went on from an older one, as its terms (Epoch) tell.
//
// `dove restore` begins an incarnation: terms go on from the second at which it was run, which no
// controller of a former incarnation has reached. So whoever has seen both tells by the term alone
// which is newer, also when one backup is restored twice. A term stays below 2^53 until 2242, so
// that every reader of JSON keeps it whole. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "model/ids.h"

namespace dove {

inline constexpr int kStartsBits = 20;  // of a term: controllers that have opened the log since

// When the log that the term is of was restored, in seconds since 1970; 0: never.
constexpr std::int64_t restored_s(Epoch term) {
  return static_cast<std::int64_t>(term.value >> kStartsBits);
}

// `seen` is of an incarnation before that of `now`: what it says about positions in the log means
// nothing any more.
constexpr bool is_former_incarnation(Epoch seen, Epoch now) {
  return restored_s(seen) < restored_s(now);
}

// The term before the first one of a log that is restored at `now_s`; `newest`: of those that the
// log has had.
constexpr Epoch restored_term(Epoch newest, std::int64_t now_s) {
  const auto begins = static_cast<std::uint64_t>(std::max<std::int64_t>(now_s, 1)) << kStartsBits;
  const std::uint64_t next = ((newest.value >> kStartsBits) + 1) << kStartsBits;
  return Epoch{std::max(begins, next)};
}

// The holder of that term. It names the term, so that a number that was changed does not pass for
// an incarnation.
inline std::string restored_holder(Epoch term) {
  return "dove restore " + std::to_string(term.value);
}

}  // namespace dove
