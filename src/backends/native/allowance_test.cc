#include "backends/native/allowance.h"

#include <gtest/gtest.h>

namespace dove::backends {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kBurst = 50'000;

TEST(Allowance, ABurstPassesAndAFloodDoesNot) {
  Allowance node(kBurst);
  std::int64_t taken = 0;
  while (node.take(512, kSecond_us)) taken += 512;
  EXPECT_GE(taken, kBurst);
  EXPECT_LT(taken, kBurst + 512);
  std::int64_t later = 0;
  for (std::int64_t at_s = 1; at_s <= 3600; ++at_s) {
    while (node.take(10, at_s * kSecond_us)) later += 10;
  }
  EXPECT_LE(later, 3600 * Allowance::kPerSecond + 10);
  EXPECT_GE(later, 3500 * Allowance::kPerSecond);
}

TEST(Allowance, AQuietNodeHasAllOfItAgain) {
  Allowance node(kBurst);
  while (node.take(512, kSecond_us)) continue;
  std::int64_t taken = 0;
  while (node.take(512, 600 * kSecond_us)) taken += 512;
  EXPECT_GE(taken, kBurst);
}

}  // namespace
}  // namespace dove::backends
