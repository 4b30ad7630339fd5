#include "text/feature_expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace dove::text {
namespace {

// "{a, b|c}"; "none".
std::string read(std::string_view text) {
  const std::optional<std::vector<std::string>> made = read_feature_expression(text);
  return made ? fmt::format("{{{}}}", fmt::join(*made, ", ")) : "none";
}

TEST(FeatureExpression, IsReadAsSlurmReadsIt) {
  EXPECT_EQ(read("h200"), "{h200}");
  EXPECT_EQ(read("a&b,c"), "{a, b, c}");
  EXPECT_EQ(read("a|b"), "{a|b}");
  EXPECT_EQ(read(" a & ( c | b ) "), "{a, b|c}");
  EXPECT_EQ(read("[rack1|rack2]&ib"), "{[rack1|rack2], ib}");
  EXPECT_EQ(read("(a|b)&(b|a)"), "{a|b}");
}

TEST(FeatureExpression, BindsFromTheLeft) {
  EXPECT_EQ(read("a|b&c"), "{a|b, c}");
  EXPECT_EQ(read("a&b|c"), "{a|c, b|c}");
  EXPECT_EQ(read("a|(b&c)"), "{a|b, a|c}");
}

TEST(FeatureExpression, RefusesWhatIsMalformedOrCountsNodes) {
  for (const char* text :
       {"", "a|", "|a", "a||b", "(a", "a)", "(a]", "[]", "a*2", "!a", "a(b)", "a (b)", "&"}) {
    EXPECT_EQ(read(text), "none") << text;
  }
}

TEST(FeatureExpression, BracketsHoldAlternativesForAllNodesTogether) {
  EXPECT_EQ(read("[a]"), "{a}");
  EXPECT_EQ(read("ib&[b|(a|c)]"), "{ib, [a|b|c]}");
  for (const char* text : {"[a|b]|c", "c|[a|b]", "[a&b]", "[(a&b)|c]", "[[a|b]]", "([a|b])|c"}) {
    EXPECT_EQ(read(text), "none") << text;
  }
  EXPECT_TRUE(is_same_on_all("[a|b]"));
  EXPECT_FALSE(is_same_on_all("a|b"));
  EXPECT_TRUE(wishes_for("[a|bc]", "bc"));
  EXPECT_FALSE(wishes_for("[a|bc]", "[a"));
  EXPECT_EQ(features_of_wish("[a|bc]"), (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(features_of_wish("a"), std::vector<std::string>{"a"});
}

TEST(FeatureExpression, RefusesWhatIsTooLarge) {
  // Every further "a&b" doubles the wishes.
  std::string text = "(a0&b0)";
  for (int i = 1; i < 6; ++i) text += fmt::format("|(a{0}&b{0})", i);
  EXPECT_EQ(read_feature_expression(text)->size(), 64U);
  EXPECT_EQ(read(text + "|(a6&b6)"), "none");
  EXPECT_EQ(read(std::string(257, 'x')), "none");
  EXPECT_EQ(read(std::string(200, 'x') + '|' + std::string(56, 'y')), "none");
  EXPECT_EQ(read(std::string(1000, '(')), "none");
}

TEST(FeatureExpression, IsWrittenSoThatItReadsBack) {
  EXPECT_EQ(write_feature_expression({}), "");
  EXPECT_EQ(write_feature_expression({"a|b"}), "a|b");
  EXPECT_EQ(write_feature_expression({"a", "b|c", "d"}), "a&(b|c)&d");
  EXPECT_EQ(read("a&(b|c)&d"), "{a, b|c, d}");
  EXPECT_EQ(write_feature_expression({"a", "[b|c]"}), "a&[b|c]");
}

TEST(FeatureExpression, AWishIsForEachOfItsFeatures) {
  EXPECT_TRUE(wishes_for("a", "a"));
  EXPECT_TRUE(wishes_for("a|bc", "a"));
  EXPECT_TRUE(wishes_for("a|bc", "bc"));
  EXPECT_FALSE(wishes_for("a|bc", "b"));
  EXPECT_FALSE(wishes_for("a|bc", ""));
}

}  // namespace
}  // namespace dove::text
