// ID tokens: what an issuer says about who has signed in (OpenID Connect Core 1.0, 2 and 3.1.3.7).
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::openid {

class KeySet;

// What a token must say to be for this sign-in.
struct Expected {
  std::string issuer;
  std::string client_id;
  std::string nonce;
  std::int64_t now_s = 0;  // since 1970
};

// The id of the key that the token says it is signed with; "" when it names none. Errors:
// kUnauthenticated token_malformed.
Result<std::string> key_id_of(std::string_view token);

// Its claims, once all of them are as expected and the signature is good. Clocks may differ by a
// minute. Errors, kUnauthenticated all: token_malformed, token_algorithm, token_key,
// token_signature, token_issuer, token_audience, token_nonce, token_expired, token_early,
// token_subject.
Result<nlohmann::json> verified_claims(std::string_view token, const KeySet& keys,
                                       const Expected& expected);

}  // namespace dove::openid
