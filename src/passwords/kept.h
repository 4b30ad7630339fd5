// Kept: what the log holds of somebody's password, in UserDeclaration::password_hash; and what a
// new one must be. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/time.h"

namespace dove::passwords {

struct Kept {
  std::string hash;  // as hash() makes it; "": there is no password
  // Somebody else has set it: until then it is good for setting another one, and for nothing more.
  // 0: its user has set it.
  Instant once_until = {};
  bool operator==(const Kept&) const = default;
};

// "$argon2id$...", or "once:SECONDS:$argon2id$...".
std::string text_of(const Kept& kept);
// Any text will do: one that text_of() does not give has a hash that is of no password.
Kept kept_of(const std::string& text);

// Errors: kInvalid password_too_short, password_is_name, password_same. `former`: "" if it is not
// known.
Result<void> check_new(std::string_view user, std::string_view former, std::string_view password);

}  // namespace dove::passwords
