// Signer: the key that this server signs identity tokens of jobs with (ES256), so that others can
// let jobs in without a secret of ours: a store of data, another cluster's API. Webhooks know by it
// who sent a notice.
//
// Immutable, any thread.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace dove::openid {

class Signer {
 public:
  // The key in the file (PEM, 0600), which is made when missing. Errors: kCorrupt bad_identity_key,
  // which names the file and the remedy.
  static Result<Signer> open(const std::string& path);

  // A signed JWT (RFC 7519). `type` keeps tokens of one purpose from being taken for another's (RFC
  // 8725, 3.11).
  std::string sign(const nlohmann::json& claims, const std::string& type = "JWT") const;
  // What verifies it: a JWK Set.
  nlohmann::json public_keys() const;

  struct Key;

 private:
  explicit Signer(std::shared_ptr<const Key> key) : key_(std::move(key)) {}
  std::shared_ptr<const Key> key_;
};

}  // namespace dove::openid
