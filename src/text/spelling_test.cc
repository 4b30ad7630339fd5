#include "text/spelling.h"

#include <gtest/gtest.h>

#include <array>

namespace dove::text {
namespace {

TEST(Spelling, ForgivesATypo) {
  constexpr std::array<std::string_view, 4> kKnown{"nodes", "nodelist", "time", "mem"};
  EXPECT_EQ(nearest("nodse", kKnown), "nodes");
  EXPECT_EQ(nearest("Tiem", kKnown), "time");
  EXPECT_EQ(nearest("nodelsit", kKnown), "nodelist");
  EXPECT_EQ(nearest("men", kKnown), "mem");
}

TEST(Spelling, DoesNotGuess) {
  constexpr std::array<std::string_view, 2> kKnown{"nodes", "mem"};
  EXPECT_EQ(nearest("xyz", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest(std::string(1000, 'n'), kKnown), "");
  EXPECT_EQ(nearest("nodes", std::span<const std::string_view>()), "");
}

}  // namespace
}  // namespace dove::text
