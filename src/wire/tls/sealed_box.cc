#include "wire/tls/sealed_box.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <cerrno>
#include <memory>

#include "base/check.h"
#include "wire/tls/openssl.h"

namespace dove::wire {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

int size_of(std::string_view text) { return static_cast<int>(text.size()); }

Error cannot_unseal() {
  return {ErrorKind::kDenied, "cannot_unseal",
          "it was sealed by another key, for another name, or changed since", ""};
}

}  // namespace

std::string random_bytes(std::size_t count) {
  std::string raw(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const ssize_t got = getrandom(raw.data() + have, count - have, 0);
    CHECK(got > 0 || errno == EINTR, "the kernel gives random bytes");
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return raw;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), size_of(bytes));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const bool whole = text.size() % 4 == 0;
  const int size = whole ? EVP_DecodeBlock(bytes_of(bytes), bytes_of(text), size_of(text)) : -1;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const bool has_more = text.find('=') < text.size() - padding;
  if (size < 0 || has_more || static_cast<std::size_t>(size) < padding) {
    return Error{ErrorKind::kInvalid, "bad_base64", "this is not base64 with its padding", ""};
  }
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

std::string seal_box(std::string_view key, std::string_view plain, std::string_view about) {
  CHECK(key.size() == kBoxKeyBytes, "the key is one of AES-256");
  std::string box = random_bytes(kNonceBytes);
  box.resize(kNonceBytes + plain.size() + kTagBytes);
  unsigned char* const out = bytes_of(box);
  const CipherPtr cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  int last = 0;
  const bool sealed =
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), out) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(about), size_of(about)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), out + kNonceBytes, &size, bytes_of(plain), size_of(plain)) ==
          1 &&
      EVP_EncryptFinal_ex(cipher.get(), out + kNonceBytes + size, &last) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                          out + kNonceBytes + plain.size()) == 1;
  CHECK(sealed, "OpenSSL has AES-256-GCM");
  return base64(box);
}

Result<std::string> open_box(std::string_view key, std::string_view sealed,
                             std::string_view about) {
  CHECK(key.size() == kBoxKeyBytes, "the key is one of AES-256");
  Result<std::string> box = from_base64(sealed);
  if (!box.ok() || box->size() < kNonceBytes + kTagBytes) return cannot_unseal();
  const std::size_t length = box->size() - kNonceBytes - kTagBytes;
  unsigned char* const in = bytes_of(*box);
  std::string plain(length + 1, '\0');
  const CipherPtr cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  int last = 0;
  const bool opened =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), in) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(about), size_of(about)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &size, in + kNonceBytes,
                        static_cast<int>(length)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes,
                          in + kNonceBytes + length) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(plain) + size, &last) == 1;
  if (!opened) {
    wipe(plain);
    return cannot_unseal();
  }
  plain.resize(length);
  return plain;
}

void wipe(std::string& text) {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

}  // namespace dove::wire
