#include "yaml/writer.h"

#include <gtest/gtest.h>

#include "yaml/reader.h"

namespace dove::yaml {
namespace {

TEST(YamlWriter, WhatIsWrittenIsReadAgain) {
  const std::string text = lines_of({{"url", "https://gpu-head:7717"}, {"note", "a: b # c"}});
  EXPECT_EQ(text, "url: https://gpu-head:7717\nnote: \"a: b # c\"\n");
  const auto root = read("written", text);
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ((*root)->values[1]->text, "a: b # c");
}

}  // namespace
}  // namespace dove::yaml
