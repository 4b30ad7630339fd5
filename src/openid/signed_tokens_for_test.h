// For tests: an issuer's keys, and tokens signed with them. A fake issuer, real signatures.
#pragma once

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "openid/key_set.h"

namespace dove::openid {

class TestKey {
 public:
  explicit TestKey(std::string algorithm) : algorithm_(std::move(algorithm)) {
    if (algorithm_ == "ES256") {
      key_.reset(EVP_EC_gen("prime256v1"));
    } else if (algorithm_ == "EdDSA") {
      key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    } else {
      key_.reset(EVP_RSA_gen(2048));
    }
    CHECK(key_ != nullptr, "OpenSSL makes a key");
  }

  nlohmann::json jwk(const std::string& id) const {
    nlohmann::json out{{"kid", id}, {"use", "sig"}};
    if (algorithm_ == "ES256") {
      out.update({{"kty", "EC"},
                  {"crv", "P-256"},
                  {"x", number(OSSL_PKEY_PARAM_EC_PUB_X, 32)},
                  {"y", number(OSSL_PKEY_PARAM_EC_PUB_Y, 32)}});
    } else if (algorithm_ == "EdDSA") {
      std::string raw(32, '\0');
      std::size_t size = raw.size();
      EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(raw.data()), &size);
      out.update({{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", base64url_encode(raw)}});
    } else {
      out.update({{"kty", "RSA"},
                  {"n", number(OSSL_PKEY_PARAM_RSA_N, 256)},
                  {"e", number(OSSL_PKEY_PARAM_RSA_E, 3)}});
    }
    return out;
  }

  std::string sign(const nlohmann::json& claims,
                   nlohmann::json header = nlohmann::json::object()) const {
    nlohmann::json all{{"alg", algorithm_}, {"kid", "k1"}};
    all.update(header);
    const std::string text = base64url_encode(all.dump()) + "." + base64url_encode(claims.dump());
    return text + "." + base64url_encode(signature(text));
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };

  std::string number(const char* name, std::size_t bytes) const {
    BIGNUM* value = nullptr;
    CHECK(EVP_PKEY_get_bn_param(key_.get(), name, &value) == 1, "the key has this number");
    std::string out(bytes, '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(bytes));
    BN_free(value);
    return base64url_encode(out);
  }

  std::string signature(const std::string& text) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_PKEY_CTX* padding = nullptr;
    const EVP_MD* digest = algorithm_ == "EdDSA" ? nullptr : EVP_sha256();
    CHECK(EVP_DigestSignInit(context, &padding, digest, nullptr, key_.get()) == 1, "it signs");
    if (algorithm_ == "PS256") {
      EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST);
    }
    std::string out(512, '\0');
    std::size_t size = out.size();
    CHECK(EVP_DigestSign(context, reinterpret_cast<unsigned char*>(out.data()), &size,
                         reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1,
          "it signs");
    EVP_MD_CTX_free(context);
    out.resize(size);
    return algorithm_ == "ES256" ? raw_of(out) : out;
  }

  static std::string raw_of(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* parsed = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string raw(64, '\0');
    auto* bytes = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(parsed), bytes, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(parsed), bytes + 32, 32);
    ECDSA_SIG_free(parsed);
    return raw;
  }

  std::string algorithm_;
  std::unique_ptr<EVP_PKEY, Free> key_;
};

}  // namespace dove::openid
