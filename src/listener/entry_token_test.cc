#include "listener/entry_token.h"

#include <gtest/gtest.h>

namespace dove::listener {
namespace {

TEST(EntryToken, SaysWhoItIsForAndUntilWhen) {
  const Entry entry{JobId(42), "ada.l@x", "0123456789ab", false, Instant{77}};
  const std::string token = write_entry_token(entry, "key");
  EXPECT_TRUE(is_entry_token(token));
  const auto read = read_entry_token(token, "key");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->job, JobId(42));
  EXPECT_EQ(read->user, "ada.l@x");
  EXPECT_EQ(read->key, "0123456789ab");
  EXPECT_FALSE(read->is_root);
  EXPECT_EQ(read->ends, Instant{77});
}

TEST(EntryToken, WhatWasChangedIsNoToken) {
  const std::string token = write_entry_token({JobId(42), "ada", "", false, Instant{77}}, "key");
  EXPECT_FALSE(read_entry_token(token, "another key").has_value());
  for (std::size_t at = 0; at < token.size(); ++at) {
    std::string changed = token;
    changed[at] = changed[at] == '1' ? '2' : '1';
    EXPECT_FALSE(read_entry_token(changed, "key").has_value()) << changed;
    EXPECT_FALSE(read_entry_token(token.substr(0, at), "key").has_value());
  }
}

}  // namespace
}  // namespace dove::listener
