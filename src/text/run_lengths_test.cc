#include "text/run_lengths.h"

#include <gtest/gtest.h>

namespace dove::text {
namespace {

using Counts = std::vector<std::int32_t>;

TEST(RunLengths, AreSlurms) {
  EXPECT_EQ(fold_counts({2, 2, 2, 1}), "2(x3),1");
  EXPECT_EQ(fold_counts({}), "");
}

TEST(RunLengths, AreReadAsTheyAreWritten) {
  for (const Counts& counts : {Counts{2, 2, 2, 1}, Counts{1}, Counts{4, 2, 4}, Counts{0, 0}}) {
    EXPECT_EQ(expand_counts(fold_counts(counts)), counts);
  }
}

TEST(RunLengths, WhatIsNoneIsNotRead) {
  for (const char* text : {"", "x", "2(x3", "2(3)", "2(x3)4", "-1", "1(x1000000)", "1(x-2)"}) {
    EXPECT_TRUE(expand_counts(text).empty()) << text;
  }
}

}  // namespace
}  // namespace dove::text
