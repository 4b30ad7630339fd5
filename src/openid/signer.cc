#include "openid/signer.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "files/text_file.h"
#include "openid/key_set.h"
#include "wire/tls/openssl.h"

namespace dove::openid {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kFileBytesMax = 16 << 10;
constexpr int kCoordinate = 32;  // bytes of P-256

using wire::KeyPtr;
using DigestContext = std::unique_ptr<EVP_MD_CTX, wire::Freed<EVP_MD_CTX_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, wire::Freed<ECDSA_SIG_free>>;
using Number = std::unique_ptr<BIGNUM, wire::Freed<BN_free>>;

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string padded(const BIGNUM* number) {
  std::string out(kCoordinate, '\0');
  BN_bn2binpad(number, bytes_of(out), kCoordinate);
  return out;
}

std::string coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* value = nullptr;
  CHECK(EVP_PKEY_get_bn_param(key, name, &value) == 1, "a key of P-256 has it");
  return base64url_encode(padded(Number(value).get()));
}

Error bad_key(const std::string& path) {
  return Error{ErrorKind::kCorrupt, "bad_identity_key",
               path +
                   ": holds no key of P-256 in PEM, or was changed; restore it from a backup, or "
                   "remove the file and another one is made",
               path};
}

Result<KeyPtr> make_key(const std::string& path) {
  KeyPtr key(EVP_EC_gen("prime256v1"));
  const wire::BioPtr out(BIO_new(BIO_s_mem()));
  if (key == nullptr ||
      PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return bad_key(path);
  }
  TRY(files::write_atomically(path, wire::text_of(out.get()), 0600, files::Survives::kPowerCut));
  return key;
}

Result<KeyPtr> read_key(const std::string& path) {
  const Result<std::string> text = files::read_text(path, kFileBytesMax);
  if (!text.ok() && text.error().kind == ErrorKind::kNotFound) return make_key(path);
  if (!text.ok()) return text.error();
  Result<KeyPtr> key = wire::key_of(*text);
  if (!key.ok() || EVP_PKEY_is_a(key->get(), "EC") != 1 || EVP_PKEY_get_bits(key->get()) != 256) {
    return bad_key(path);
  }
  return key;
}

}  // namespace

struct Signer::Key {
  KeyPtr key;
  Json jwk;
};

Result<Signer> Signer::open(const std::string& path) {
  TRY_ASSIGN(KeyPtr key, read_key(path));
  auto kept = std::make_shared<Key>();
  const std::string x = coordinate(key.get(), OSSL_PKEY_PARAM_EC_PUB_X);
  const std::string y = coordinate(key.get(), OSSL_PKEY_PARAM_EC_PUB_Y);
  // RFC 7638: the same key has the same id everywhere.
  const std::string thumbprint =
      R"({"crv":"P-256","kty":"EC","x":")" + x + R"(","y":")" + y + R"("})";
  kept->jwk = {{"kty", "EC"},
               {"crv", "P-256"},
               {"x", x},
               {"y", y},
               {"use", "sig"},
               {"alg", "ES256"},
               {"kid", base64url_encode(sha256(thumbprint))}};
  kept->key = std::move(key);
  return Signer(std::move(kept));
}

std::string Signer::sign(const Json& claims, const std::string& type) const {
  const Json header{{"alg", "ES256"}, {"typ", type}, {"kid", key_->jwk.at("kid")}};
  const std::string text = base64url_encode(header.dump()) + "." + base64url_encode(claims.dump());
  const DigestContext context(EVP_MD_CTX_new());
  std::string der(256, '\0');
  std::size_t size = der.size();
  const bool is_signed =
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_->key.get()) == 1 &&
      EVP_DigestSign(context.get(), bytes_of(der), &size,
                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  CHECK(is_signed, "a key of P-256 signs");
  const auto* at = bytes_of(der);
  const unsigned char* begin = at;
  const EcSignature signature(d2i_ECDSA_SIG(nullptr, &begin, static_cast<long>(size)));
  const std::string raw =
      padded(ECDSA_SIG_get0_r(signature.get())) + padded(ECDSA_SIG_get0_s(signature.get()));
  return text + "." + base64url_encode(raw);
}

Json Signer::public_keys() const { return {{"keys", Json::array({key_->jwk})}}; }

}  // namespace dove::openid
