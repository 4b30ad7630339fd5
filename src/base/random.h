// Random is the seeded generator of tests, jitter and simulation (SplitMix64, Steele et al. 2014).
//
// The same seed gives the same sequence on every machine. Not for secrets.
#pragma once

#include <cstdint>

namespace dove {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // A number in [0, bound). REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // REQUIRES: n > 0.
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  // From 1 to twice the mean. REQUIRES: mean > 0.
  std::int64_t around(std::int64_t mean) {
    return 1 + static_cast<std::int64_t>(below(2 * static_cast<std::uint64_t>(mean)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace dove
