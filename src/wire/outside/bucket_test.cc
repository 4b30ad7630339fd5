#include "wire/outside/bucket.h"

#include <gtest/gtest.h>

namespace dove::wire {
namespace {

TEST(Bucket, NamesNeedNoEscapes) {
  for (const char* name : {"dove-backups", "a1b", "0-0"}) EXPECT_TRUE(is_bucket_name(name)) << name;
  for (const char* name : {"", "ab", "-ab", "ab-", "a.b", "A-b", "a_b", "a/b"}) {
    EXPECT_FALSE(is_bucket_name(name)) << name;
  }
  EXPECT_FALSE(is_bucket_name(std::string(64, 'a')));
  for (const char* name : {"a", "room/daily/log.sqlite", "..a/b..", "A_b-1.part0000001"}) {
    EXPECT_TRUE(is_object_name(name)) << name;
  }
  for (const char* name : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "a b", "a%2fb", "a?b"}) {
    EXPECT_FALSE(is_object_name(name)) << name;
  }
  EXPECT_FALSE(is_object_name(std::string(513, 'a')));
}

}  // namespace
}  // namespace dove::wire
