// Issuer: what a provider's server says: where it answers, its keys, who a code is for.
//
// Every call may block, for at most ten seconds in all: never on a loop. What it
// publishes is kept for an hour; a key that is not known is looked for once a minute. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "openid/key_set.h"
#include "openid/provider.h"
#include "openid/sign_in.h"

namespace dove::openid {

// Errors of both calls: kUnavailable issuer_unavailable (with what the network said, and the
// remedy), issuer_malformed.
class Issuer {
 public:
  explicit Issuer(Provider provider) : provider_(std::move(provider)) {}

  const Provider& provider() const { return provider_; }
  // Where the browser goes.
  Result<std::string> authorization_endpoint();
  // The claims about whoever signed in, those of userinfo among them where the ID token lacks one
  // that the provider's settings name. Errors too: those of verified_claims; kUnauthenticated
  // code_refused.
  Result<nlohmann::json> redeem(const std::string& code, const SignIn& sign_in, std::int64_t now_s);

 private:
  // `until_us`, below: of the monotonic clock.
  struct Published {
    std::string authorization;
    std::string token;
    std::string userinfo;  // "": none
    std::string keys;
    bool secret_in_body = false;
    std::int64_t until_us = 0;
  };
  Result<Published> published(std::int64_t until_us);
  Result<std::shared_ptr<const KeySet>> keys_with(const Published& where, const std::string& id,
                                                  std::int64_t until_us);
  Result<nlohmann::json> tokens_for(const Published& where, const std::string& code,
                                    const SignIn& sign_in, std::int64_t until_us) const;
  Result<void> add_userinfo(const Published& where, const nlohmann::json& tokens,
                            std::int64_t until_us, nlohmann::json& claims) const;

  const Provider provider_;
  std::mutex mutex_;  // of what follows
  std::optional<Published> published_;
  std::shared_ptr<const KeySet> keys_;
  std::int64_t keys_until_us_ = 0;
  std::int64_t keys_asked_us_ = 0;
};

}  // namespace dove::openid
