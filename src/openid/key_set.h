// KeySet: the public keys that an issuer signs its tokens with (JWK Set, RFC 7517 and 7518).
//
// Immutable, any thread. The one home of OpenSSL's signatures in this part.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::openid {

// base64url without padding, RFC 4648 5. Error: bad_encoding for anything else.
Result<std::string> base64url_decode(std::string_view text);
std::string base64url_encode(std::string_view bytes);
// SHA-256 as bytes.
std::string sha256(std::string_view bytes);

class KeySet {
 public:
  // Keys of kinds that are not known, or not for signatures, are passed over: an issuer may have
  // them beside the others. Error: kInvalid bad_key_set.
  static Result<KeySet> read(std::string_view json);

  // Whether a token that names this key may be from here; "": it names none.
  bool has(std::string_view key_id) const;
  // `algorithm` is one of RS256, PS256, ES256, EdDSA; others, "none" and those of shared secrets
  // above all, are refused (RFC 8725 3.1). Errors: kUnauthenticated token_algorithm, token_key,
  // token_signature.
  Result<void> verify(std::string_view algorithm, std::string_view key_id, std::string_view text,
                      std::string_view signature) const;

  struct Key;

 private:
  std::map<std::string, std::shared_ptr<const Key>, std::less<>> keys_;
};

}  // namespace dove::openid
