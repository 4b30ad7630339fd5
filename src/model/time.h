// Instant is a point in time, Span a length of time; both whole microseconds.
//
// Instants are UTC, stamped by the controller, and never decrease in a log. Nothing in model, core
// or policies can read a clock: time is data.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace dove {

struct Span {
  std::int64_t us = 0;
  constexpr auto operator<=>(const Span&) const = default;
};

constexpr Span seconds(std::int64_t s) { return Span{s * 1'000'000}; }
constexpr Span milliseconds(std::int64_t ms) { return Span{ms * 1'000}; }

struct Instant {
  std::int64_t us = 0;
  constexpr auto operator<=>(const Instant&) const = default;
};

// The instant that never comes: "no limit", "nothing to wake for".
constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

constexpr Instant operator+(Instant at, Span span) {
  return span.us > kNever.us - at.us ? kNever : Instant{at.us + span.us};
}
constexpr Span operator+(Span a, Span b) { return Span{a.us + b.us}; }
constexpr Span operator-(Instant later, Instant earlier) { return Span{later.us - earlier.us}; }

}  // namespace dove
