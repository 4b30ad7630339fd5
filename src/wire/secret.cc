#include "wire/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>

#include "base/check.h"

namespace dove::wire {
namespace {

std::string hex(const unsigned char* bytes, std::size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(size * 2);
  for (std::size_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

std::string base64url(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned word = 0;
  int bits = 0;
  for (char c : bytes) {
    word = (word << 8 | static_cast<unsigned char>(c)) & 0xFFFF;
    for (bits += 8; bits >= 6; bits -= 6) out += kDigits[(word >> (bits - 6)) & 63];
  }
  if (bits > 0) out += kDigits[(word << (6 - bits)) & 63];
  return out;
}

}  // namespace

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_token(std::size_t bytes) {
  std::string raw(bytes, '\0');
  for (std::size_t have = 0; have < bytes;) {
    const ssize_t got = getrandom(raw.data() + have, bytes - have, 0);
    CHECK(got > 0 || errno == EINTR, "the kernel gives random bytes");
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return base64url(raw);
}

std::string sha256_hex(std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  CHECK(EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
        "OpenSSL has SHA-256");
  return hex(digest.data(), size);
}

std::string sha1_base64(std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  CHECK(EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1,
        "OpenSSL has SHA-1");
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text;
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

std::string hmac_sha256(std::string_view key, std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest.data(),
             &size) != nullptr,
        "OpenSSL has HMAC-SHA-256");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string hmac_sha256_hex(std::string_view key, std::string_view data) {
  const std::string digest = hmac_sha256(key, data);
  return hex(reinterpret_cast<const unsigned char*>(digest.data()),
             static_cast<unsigned>(digest.size()));
}

}  // namespace dove::wire
