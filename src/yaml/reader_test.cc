#include "yaml/reader.h"

#include <gtest/gtest.h>

namespace dove::yaml {
namespace {

TEST(YamlReader, EveryValueKnowsItsPlace) {
  const auto root = read("a.yaml", "name: x\nlist:\n  - 'y'\n  - {deep: ~}\n");
  ASSERT_TRUE(root.ok()) << root.error().message;
  ASSERT_EQ((*root)->kind, Value::Kind::kMap);
  const Value& list = *(*root)->values[1];
  EXPECT_EQ(to_text((*root)->keys[1]->place), "a.yaml:2:1");
  EXPECT_EQ(to_text(list.values[0]->place), "a.yaml:3:5");
  EXPECT_TRUE(list.values[0]->quoted);
  EXPECT_EQ(list.values[1]->values[0]->kind, Value::Kind::kNull);
  EXPECT_EQ((*root)->height, 3);
  EXPECT_EQ((*root)->weight, 9u);
}

TEST(YamlReader, AFileWithoutAValueIsANull) {
  for (const char* text : {"", "# nothing\n", "~"}) {
    const auto root = read("a.yaml", text);
    ASSERT_TRUE(root.ok()) << root.error().message;
    EXPECT_EQ((*root)->kind, Value::Kind::kNull) << text;
    EXPECT_EQ(to_text((*root)->place), "a.yaml:1:1") << text;
  }
}

TEST(YamlReader, JsonIsYaml) {
  const auto root = read("a.json", "{\"a\": [1, \"two\", null], \"b\": {\"c\": \"\\u00e9\\n\"}}\n");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ((*root)->values[0]->values[1]->text, "two");
  EXPECT_EQ((*root)->values[1]->values[0]->text, "\xC3\xA9\n");
}

TEST(YamlReader, MistakesNamePlaceAndRemedy) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"a: [1,\n", "f:1:4: the [ is never closed: write a ] behind its last item"},
           {"job:\n\tname: x\n", "YAML takes no tabs"},
           {"a: 1\n---\nb: 2\n", "f:3:1: a second document begins here: one document per file"},
           {"a: &a [*a]\n", "f:1:8: this alias names a value that is not complete yet"},
           {"? [a]\n: b\n", "f:1:3: a key must be a word"},
           {"a: " + std::string(100, '[') + std::string(100, ']'), "nested deeper than 64 levels"},
           {std::string(100'000, '{'), "nested deeper than 64 levels"}}) {
    const auto root = read("f", text);
    ASSERT_FALSE(root.ok()) << text;
    EXPECT_EQ(root.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(root.error().message.find(says), std::string::npos) << root.error().message;
    EXPECT_TRUE(root.error().message.starts_with(root.error().field + ": "));
  }
}

TEST(YamlReader, LimitsHold) {
  const std::string aliases = "a: &a [x, x, x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
  const auto many = read("f", aliases, {.values_max = 30});
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().message, "f:3:5: more than 30 values, aliases followed");
  EXPECT_TRUE(read("f", aliases, {.values_max = 30, .counts_aliases = false}).ok());
  EXPECT_EQ((*read("f", aliases))->weight, 43u);
  EXPECT_FALSE(read("f", "[1, 2, 3]", {.values_max = 3}).ok());
  const auto large = read("f", std::string(2049, 'x'), {.bytes_max = 2 << 10});
  EXPECT_EQ(large.error().kind, ErrorKind::kTooLarge);
  EXPECT_EQ(large.error().message, "f: over 2 KiB");
}

TEST(YamlReader, TheLimitsOfDocumentsHoldForAllOfThem) {
  const auto three = read_documents("f", "a: 1\n---\n---\n[b]\n", {.values_max = 6});
  ASSERT_TRUE(three.ok()) << three.error().message;
  ASSERT_EQ(three->size(), 3u);
  EXPECT_EQ(three->at(1)->kind, Value::Kind::kNull);
  EXPECT_EQ(to_text(three->at(2)->place), "f:4:1");
  EXPECT_FALSE(read_documents("f", "a: 1\n---\n---\n[b]\n", {.values_max = 5}).ok());
}

}  // namespace
}  // namespace dove::yaml
