#include "openid/key_set.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "openid/json_text.h"
#include "wire/tls/openssl.h"

namespace dove::openid {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kKeysMax = 64;
constexpr int kRsaBitsMin = 2048;
constexpr std::size_t kCoordinate = 32;  // bytes of P-256

using wire::KeyPtr;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, wire::Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, wire::Freed<EVP_MD_CTX_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, wire::Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, wire::Freed<OSSL_PARAM_free>>;
using Number = std::unique_ptr<BIGNUM, wire::Freed<BN_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, wire::Freed<ECDSA_SIG_free>>;

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::array<std::int8_t, 256> values_of_letters() {
  std::array<std::int8_t, 256> values;
  values.fill(-1);
  for (std::int8_t i = 0; i < 64; ++i) values[static_cast<unsigned char>(kLetters[i])] = i;
  return values;
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The bytes of a member in base64url; "" when it has none.
std::string bytes_in(const Json& object, const char* name) {
  const Result<std::string> bytes = base64url_decode(text_of(object, name));
  return bytes.ok() ? *bytes : "";
}

Number number_of(const std::string& bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

KeyPtr key_from(const char* type, OSSL_PARAM* params) {
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
    return nullptr;
  }
  return KeyPtr(key);
}

KeyPtr rsa_key(const Json& jwk) {
  const Number n = number_of(bytes_in(jwk, "n"));
  const Number e = number_of(bytes_in(jwk, "e"));
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || BN_num_bits(n.get()) < kRsaBitsMin || BN_num_bits(n.get()) > 16'384 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return nullptr;
  }
  const Params params(OSSL_PARAM_BLD_to_param(builder.get()));
  return key_from("RSA", params.get());
}

KeyPtr p256_key(const Json& jwk) {
  const std::string x = bytes_in(jwk, "x");
  const std::string y = bytes_in(jwk, "y");
  if (text_of(jwk, "crv") != "P-256" || x.size() != kCoordinate || y.size() != kCoordinate) {
    return nullptr;
  }
  const std::string point = '\x04' + x + y;
  const Builder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  const Params params(OSSL_PARAM_BLD_to_param(builder.get()));
  return key_from("EC", params.get());
}

KeyPtr ed25519_key(const Json& jwk) {
  const std::string x = bytes_in(jwk, "x");
  if (text_of(jwk, "crv") != "Ed25519") return nullptr;
  return KeyPtr(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size()));
}

// As OpenSSL wants an ECDSA signature; "" when it is none.
std::string der_of(std::string_view raw) {
  if (raw.size() != 2 * kCoordinate) return "";
  const EcSignature signature(ECDSA_SIG_new());
  Number r = number_of(std::string(raw.substr(0, kCoordinate)));
  Number s = number_of(std::string(raw.substr(kCoordinate)));
  if (ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return "";
  (void)r.release();  // the signature's now
  (void)s.release();
  unsigned char* out = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &out);
  if (size <= 0) return "";
  std::string der(reinterpret_cast<char*>(out), static_cast<std::size_t>(size));
  OPENSSL_free(out);
  return der;
}

Error refused(std::string code, std::string message) {
  return Error{ErrorKind::kUnauthenticated, std::move(code), std::move(message), "id_token"};
}

}  // namespace

struct KeySet::Key {
  KeyPtr key;
  std::string type;       // "RSA", "EC", "OKP"
  std::string algorithm;  // "": any of its type
};

namespace {

std::shared_ptr<const KeySet::Key> key_of(const Json& jwk) {
  const std::string use = text_of(jwk, "use");
  if (!use.empty() && use != "sig") return nullptr;
  auto out = std::make_shared<KeySet::Key>();
  out->type = text_of(jwk, "kty");
  out->algorithm = text_of(jwk, "alg");
  if (out->type == "RSA") out->key = rsa_key(jwk);
  if (out->type == "EC") out->key = p256_key(jwk);
  if (out->type == "OKP") out->key = ed25519_key(jwk);
  return out->key == nullptr ? nullptr : out;
}

const char* type_of(std::string_view algorithm) {
  if (algorithm == "RS256" || algorithm == "PS256") return "RSA";
  if (algorithm == "ES256") return "EC";
  return algorithm == "EdDSA" ? "OKP" : nullptr;
}

bool is_signed(const KeySet::Key& key, std::string_view algorithm, std::string_view text,
               std::string_view signature) {
  const std::string der = algorithm == "ES256" ? der_of(signature) : std::string(signature);
  const DigestContext context(EVP_MD_CTX_new());
  const EVP_MD* digest = algorithm == "EdDSA" ? nullptr : EVP_sha256();
  EVP_PKEY_CTX* padding = nullptr;
  if (EVP_DigestVerifyInit(context.get(), &padding, digest, nullptr, key.key.get()) != 1) {
    return false;
  }
  if (algorithm == "PS256" &&
      (EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) != 1 ||
       EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST) != 1)) {
    return false;
  }
  return EVP_DigestVerify(context.get(), bytes_of(der), der.size(), bytes_of(text), text.size()) ==
         1;
}

}  // namespace

Result<std::string> base64url_decode(std::string_view text) {
  static const std::array<std::int8_t, 256> kValues = values_of_letters();
  const Error bad{ErrorKind::kInvalid, "bad_encoding", "this is not base64url", ""};
  if (text.size() % 4 == 1) return bad;
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const std::int8_t value = kValues[static_cast<unsigned char>(letter)];
    if (value < 0) return bad;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  if ((bits & ((1U << count) - 1)) != 0) return bad;  // two spellings of the same bytes
  return out;
}

std::string base64url_encode(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) out += kLetters[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kLetters[bits << (6 - count) & 63];
  return out;
}

std::string sha256(std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
             EVP_sha256(), nullptr);
  out.resize(size);
  return out;
}

Result<KeySet> KeySet::read(std::string_view text) {
  const Json json = read_json(text);
  if (!json.is_object() || !json.contains("keys") || !json["keys"].is_array()) {
    return Error{ErrorKind::kInvalid, "bad_key_set",
                 "the issuer's keys (jwks_uri) are not a JWK Set", "jwks_uri"};
  }
  KeySet set;
  for (const Json& jwk : json["keys"]) {
    if (!jwk.is_object() || set.keys_.size() == kKeysMax) continue;
    if (auto key = key_of(jwk)) set.keys_.emplace(text_of(jwk, "kid"), std::move(key));
  }
  return set;
}

bool KeySet::has(std::string_view key_id) const {
  return key_id.empty() ? keys_.size() == 1 : keys_.contains(key_id);
}

Result<void> KeySet::verify(std::string_view algorithm, std::string_view key_id,
                            std::string_view text, std::string_view signature) const {
  const char* type = type_of(algorithm);
  if (type == nullptr) {
    return refused(
        "token_algorithm",
        fmt::format("the ID token is signed with '{}', which proves nothing here; let the "
                    "issuer sign with RS256, PS256, ES256 or EdDSA",
                    algorithm.substr(0, 32)));
  }
  const auto named = keys_.find(key_id);
  // An issuer with one key need not name it.
  const Key* key = named != keys_.end()                  ? named->second.get()
                   : key_id.empty() && keys_.size() == 1 ? keys_.begin()->second.get()
                                                         : nullptr;
  if (key == nullptr || key->type != type ||
      (!key->algorithm.empty() && key->algorithm != algorithm)) {
    return refused("token_key", "the ID token is signed with a key that its issuer does not list");
  }
  if (is_signed(*key, algorithm, text, signature)) return {};
  return refused("token_signature", "the ID token's signature is not its issuer's");
}

}  // namespace dove::openid
