// Hashes are argon2id's, salted, and of one password alone.
#include "passwords/hash.h"

#include <gtest/gtest.h>

namespace dove::passwords {
namespace {

constexpr Cost kCheap{64, 1};  // tests of one thing need not be slow

TEST(PasswordHash, IsOfItsPasswordAlone) {
  const std::string kept = hash("correct horse battery", kCheap).value();
  EXPECT_TRUE(kept.starts_with("$argon2id$v=19$m=64,t=1,p=1$")) << kept;
  EXPECT_TRUE(matches(kept, "correct horse battery").value());
  EXPECT_FALSE(matches(kept, "correct horse batterY").value());
  EXPECT_FALSE(matches(kept, "").value());
  EXPECT_NE(hash("correct horse battery", kCheap).value(), kept) << "each has a salt of its own";
}

TEST(PasswordHash, CostsWhatOwaspAsksForAndFitsTheLog) {
  const std::string kept = hash("correct horse battery").value();
  EXPECT_TRUE(kept.starts_with("$argon2id$v=19$m=47104,t=2,p=1$")) << kept;
  EXPECT_LT(kept.size(), 128u);
  EXPECT_TRUE(matches(kept, "correct horse battery").value());
}

// As argon2(1) writes it: echo -n "correct horse battery" | argon2 dovetailsalt -id -k 64 -t 1 -e
TEST(PasswordHash, IsReadAsOthersWriteItAndNothingElseIs) {
  const std::string others =
      "$argon2id$v=19$m=64,t=1,p=1$ZG92ZXRhaWxzYWx0$z6cvvdz4bsnin6CJJmfv5U6Y/e6pmwiTXgXBUNDQaNM";
  EXPECT_TRUE(matches(others, "correct horse battery").value());
  EXPECT_FALSE(matches(others.substr(0, others.size() - 4), "correct horse battery").value());
  for (const char* text : {"", "x", "$argon2id$", "$argon2i$v=19$m=64,t=1,p=1$YWFhYWFhYWE$AAAA",
                           "$2b$12$abcdefghijklmnopqrstuv"}) {
    EXPECT_FALSE(matches(text, "").value()) << text;
    EXPECT_FALSE(matches(text, text).value()) << text;
  }
}

TEST(PasswordHash, IsWeakerWithLessMemoryFewerPassesOrAnOlderVersion) {
  const std::string kept = hash("correct horse battery", kCheap).value();
  EXPECT_FALSE(is_weaker(kept, kCheap));
  EXPECT_FALSE(is_weaker(kept, {32, 1}));
  EXPECT_TRUE(is_weaker(kept, {65, 1}));
  EXPECT_TRUE(is_weaker(kept, {64, 2}));
  EXPECT_TRUE(is_weaker("$argon2id$m=64,t=1,p=1$YWFhYWFhYWE$AAAA", kCheap)) << "of version 16";
  EXPECT_FALSE(is_weaker(nobodys_hash()));
  for (const char* text : {"", "x", "$2b$12$abcdefghijklmnopqrstuv"}) EXPECT_FALSE(is_weaker(text));
}

TEST(PasswordHash, NobodysIsReadAndOfNobody) {
  const std::string real = hash("correct horse battery").value();
  const std::string none = nobodys_hash();
  EXPECT_EQ(none.substr(0, 31), real.substr(0, 31)) << "it costs the same";
  EXPECT_EQ(none.size(), real.size());
  EXPECT_FALSE(matches(none, "correct horse battery").value());
}

}  // namespace
}  // namespace dove::passwords
