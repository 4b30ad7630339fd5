#include "text/utf8.h"

#include <gtest/gtest.h>

namespace dove::text {
namespace {

TEST(Utf8, EndsAtTheFirstByteThatIsNone) {
  EXPECT_TRUE(is_utf8("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"));
  EXPECT_EQ(utf8_bytes("ab\xFF"), 2U);
  EXPECT_EQ(utf8_bytes("a\xE2\x82"), 1U);
  EXPECT_EQ(utf8_bytes("\xF5\x80\x80\x80"), 0U);
}

TEST(Utf8, HasNoOverlongFormsAndNoSurrogates) {
  EXPECT_EQ(utf8_bytes("\xC0\xAF"), 0U);
  EXPECT_EQ(utf8_bytes("\xE0\x80\x80"), 0U);
  EXPECT_EQ(utf8_bytes("\xED\xA0\x80"), 0U);
  EXPECT_EQ(utf8_bytes("\xF4\x90\x80\x80"), 0U);
}

}  // namespace
}  // namespace dove::text
