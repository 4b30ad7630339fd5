// Keys: what people and their programs call with, besides the one token of a user.
#pragma once

#include <cstdint>
#include <string>

#include "model/time.h"

namespace dove {

// What a key is good for; see holds().
enum class KeyScope : std::uint8_t {
  kRead,  // looking
  kJobs,  // the user's own jobs, too: submitting, changing, steps, commands
  kAll,   // all that the user may do
  kLog,   // copying the log, which holds what nobody is shown, and nothing else
};

// Whether a key of the scope is good for what takes one of scope `needed`: each holds the ones
// before it, but the log is in kAll alone.
constexpr bool holds(KeyScope scope, KeyScope needed) {
  if (scope == KeyScope::kLog || needed == KeyScope::kLog) {
    return scope == needed || scope == KeyScope::kAll;
  }
  return scope >= needed;
}

enum class KeyKind : std::uint8_t {
  kKey,      // of a program, shown as a bearer token
  kSession,  // of a browser that signed in, shown as its cookie
  kCode,     // good for one sign-in
};

// Its bearer is the user, within the scope. What it is made of is not kept, its SHA-256 is.
struct Key {
  std::string id;  // the beginning of the SHA-256; no secret
  std::string user;
  std::string name;  // what it is for, in its user's words
  KeyScope scope = KeyScope::kRead;
  Instant issued_at;
  Instant expires_at;
  KeyKind kind = KeyKind::kKey;
  // Its bearer holds the administrator's token, or was let in by who held it. One of kKey without
  // a user is such a token: the present one, which never expires, or a former one, until then.
  bool is_administrators = false;
  bool operator==(const Key&) const = default;
};

}  // namespace dove
