// A new key: its secret is shown once, and only its digest is kept.
//
// Include only from .cc files of this part.
#pragma once

#include <string>

#include "base/result.h"
#include "model/event.h"
#include "wire/secret.h"

namespace dove::server {

struct Context;

inline constexpr std::size_t kKeyIdChars = 12;

struct NewKey {
  std::string secret;
  KeyIssued issued;
};

// `key` lacks its id only; `prefix` begins the secret.
inline NewKey make_key(Key key, const std::string& prefix = "") {
  NewKey made;
  made.secret = prefix + wire::random_token(32);
  made.issued.sha256 = wire::sha256_hex(made.secret);
  made.issued.key = std::move(key);
  made.issued.key.id = made.issued.sha256.substr(0, kKeyIdChars);
  return made;
}

// Whether a key with the administrator's rights may be made now. Error kUnavailable token_replaced
// while the administrator's token is: what its former bearer begins until then would outlive it.
Result<void> may_make(const Context& context, bool is_administrators);

// So that programs which look for leaked secrets know one.
inline constexpr char kKeyPrefix[] = "dovekey_";

}  // namespace dove::server
