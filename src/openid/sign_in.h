// SignIn: a browser on its way to an issuer and back (OpenID Connect Core 3.1, code flow with
// PKCE).
//
// What must be the same when it comes back travels in the browser's own cookie, under our seal: the
// server keeps nothing of people who only began. Pure but for random numbers, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "openid/provider.h"

namespace dove::openid {

struct SignIn {
  std::string provider;
  std::string state;     // the issuer gives it back
  std::string nonce;     // the ID token holds it
  std::string verifier;  // RFC 7636: only who began can redeem the code
  std::string then;      // where the browser wanted to go: a path of ours
  std::string redirect;  // redirect_uri, as the issuer was told
  std::int64_t ends_us = 0;
};

// A new one, good for ten minutes. Error: kInvalid open_redirect when `then` is not a path.
Result<SignIn> begin_sign_in(const Provider& provider, const std::string& then,
                             const std::string& origin, std::int64_t now_us);

// For the cookie. `key`: the server's secret.
std::string seal(const SignIn& sign_in, std::string_view key);
// Errors, kUnauthenticated: sign_in_unknown (forged, or of another server), sign_in_over,
// sign_in_other (the issuer's answer is to another sign-in of this browser).
Result<SignIn> unseal(std::string_view cookie, std::string_view key, const std::string& provider,
                      std::string_view state, std::int64_t now_us);

// Where the issuer asks who it is.
std::string authorization_url(const std::string& endpoint, const Provider& provider,
                              const SignIn& sign_in);
// "/v1/sign-in/corp/callback"
std::string callback_path(const std::string& provider);

}  // namespace dove::openid
