#include "base/rare_text.h"

#include <gtest/gtest.h>

namespace dove {
namespace {

TEST(RareText, HoldsATextInTheRoomOfAPointer) {
  static_assert(sizeof(RareText) == sizeof(void*));
  RareText none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.text(), "");
  EXPECT_EQ(RareText(std::string()), none);

  none = std::string("ada");
  EXPECT_FALSE(none.empty());
  EXPECT_EQ(none.text(), "ada");
  none.clear();
  EXPECT_TRUE(none.empty());
}

TEST(RareText, ACopyIsItsOwn) {
  RareText first(std::string("ada"));
  RareText second = first;
  EXPECT_EQ(first, second);
  second = std::string("eve");
  EXPECT_EQ(first.text(), "ada");
  first = RareText();
  EXPECT_TRUE(first.empty());
}

}  // namespace
}  // namespace dove
