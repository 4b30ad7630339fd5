// The seeds that a property test goes through: DOVE_SEED alone, DOVE_ROUNDS of them, or the usual
// number from 1 on; a quarter of it where the sanitizers make each forty times as long.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace dove::sim {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
  bool given = false;  // a failure is looked into
};

inline Seeds seeds_for_test(std::uint64_t usual) {
#ifdef __SANITIZE_ADDRESS__
  usual = (usual + 3) / 4;
#endif
  Seeds seeds;
  const char* const first = std::getenv("DOVE_SEED");
  const char* const rounds = std::getenv("DOVE_ROUNDS");
  seeds.given = first != nullptr;
  if (seeds.given) seeds.first = std::strtoull(first, nullptr, 10);
  seeds.count = rounds != nullptr ? std::strtoull(rounds, nullptr, 10) : seeds.given ? 1 : usual;
  return seeds;
}

}  // namespace dove::sim
