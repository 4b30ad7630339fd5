// What the log holds of a password, and which new ones are refused.
#include "passwords/kept.h"

#include <gtest/gtest.h>

namespace dove::passwords {
namespace {

const std::string kHash = "$argon2id$v=19$m=47104,t=2,p=1$c2FsdA$dGFn";

std::string refusal(std::string_view user, std::string_view former, std::string_view password) {
  const Result<void> checked = check_new(user, former, password);
  return checked.ok() ? "" : checked.error().code;
}

TEST(PasswordKept, GoesIntoATextAndBack) {
  for (const Kept& kept : {Kept{"", {}}, Kept{kHash, {}}, Kept{kHash, Instant{} + seconds(9)}}) {
    EXPECT_EQ(kept_of(text_of(kept)), kept) << text_of(kept);
  }
  EXPECT_EQ(text_of({kHash, Instant{} + seconds(9)}), "once:9:" + kHash);
}

TEST(PasswordKept, ADamagedTextIsOfNoPassword) {
  for (const std::string& text : {"once:" + kHash, "once:x:" + kHash, "once:-1:" + kHash,
                                  "once:0:" + kHash, std::string("once:9")}) {
    EXPECT_EQ(kept_of(text), (Kept{text, {}}));
  }
}

TEST(PasswordNew, IsLongAndNeitherTheNameNorTheFormerOne) {
  EXPECT_EQ(refusal("ada", "", "twelve chars"), "");
  EXPECT_EQ(refusal("ada", "", "eleven char"), "password_too_short");
  EXPECT_EQ(refusal("ada", "", "zw\xC3\xB6lf-Zeichn"), "") << "characters, not bytes";
  EXPECT_EQ(refusal("ada", "", "elf-Zeich\xC3\xB6n"), "password_too_short");
  EXPECT_EQ(refusal("ada.lovelace", "", "Ada.Lovelace"), "password_is_name");
  EXPECT_EQ(refusal("ada", "", "ADA"), "password_is_name");
  EXPECT_EQ(refusal("ada", "twelve chars", "twelve chars"), "password_same");
  EXPECT_NE(check_new("ada", "", "short").error().message.find("has 5 characters, and at least 12"),
            std::string::npos);
}

}  // namespace
}  // namespace dove::passwords
