// Generation: the version of something for which an answer was computed.
//
// It is raised by each change. An answer is valid as long as its generation is the present one.
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
