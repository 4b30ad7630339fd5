// Generation: which version of something an answer was found for.
//
// It moves on each time that the thing changes; an answer stands as long as the generation it was
// found at is the present one.
#pragma once

#include <compare>
#include <cstdint>

namespace dove::core {

class Generation {
 public:
  void move_on() { ++value_; }
  auto operator<=>(const Generation&) const = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace dove::core
