#include "wire/tls/sealed_box.h"

#include <gtest/gtest.h>

namespace dove::wire {
namespace {

TEST(SealedBox, OpensWithItsKeyAndWhatItIsAboutAlone) {
  const std::string key = random_bytes(kBoxKeyBytes);
  const std::string text("a value\0with a zero", 19);
  for (const std::string& plain : {text, std::string(), std::string(64 << 10, 'x')}) {
    const std::string sealed = seal_box(key, plain, "user/ada/hub");
    EXPECT_EQ(*open_box(key, sealed, "user/ada/hub"), plain);
    EXPECT_NE(sealed, seal_box(key, plain, "user/ada/hub"));
    EXPECT_EQ(open_box(key, sealed, "user/bob/hub").error().code, "cannot_unseal");
    EXPECT_EQ(open_box(random_bytes(kBoxKeyBytes), sealed, "user/ada/hub").error().code,
              "cannot_unseal");
  }
}

TEST(SealedBox, WhatWasChangedDoesNotOpen) {
  const std::string key = random_bytes(kBoxKeyBytes);
  const std::string sealed = seal_box(key, "value", "about");
  for (std::size_t i = 0; i + 4 < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(open_box(key, changed, "about").ok()) << i;
  }
  for (const char* odd : {"", "AAAA", "no base64!", "===="}) {
    EXPECT_EQ(open_box(key, odd, "about").error().code, "cannot_unseal") << odd;
  }
}

TEST(SealedBox, Base64IsReadBack) {
  for (std::size_t size = 0; size < 10; ++size) {
    const std::string bytes = random_bytes(size);
    EXPECT_EQ(*from_base64(base64(bytes)), bytes);
  }
  EXPECT_FALSE(from_base64("abc").ok());
  EXPECT_FALSE(from_base64("ab=c").ok());
}

TEST(SealedBox, WhatIsWipedIsGone) {
  std::string text(100, 'x');
  const char* const bytes = text.data();
  wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(bytes[50], '\0');
}

}  // namespace
}  // namespace dove::wire
