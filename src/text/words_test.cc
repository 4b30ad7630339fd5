#include "text/words.h"

#include <gtest/gtest.h>

namespace dove::text {
namespace {

using Words = std::vector<std::string>;

TEST(Words, AreWhatSeparatorsDivide) {
  EXPECT_EQ(split("n1,,n2,", ","), (Words{"n1", "n2"}));
  EXPECT_EQ(split(", n1 ,n2", ", "), (Words{"n1", "n2"}));
  EXPECT_EQ(split("a b", ","), (Words{"a b"}));
  EXPECT_EQ(split("", ","), Words());
  EXPECT_EQ(split(",,", ","), Words());
  EXPECT_EQ(words_of("  sda  1024 ").size(), 2u);
  EXPECT_EQ(words_of("  sda  1024 ").back(), "1024");
}

}  // namespace
}  // namespace dove::text
