#include "store/chain/chain.h"

#include <openssl/evp.h>

#include <cstring>

#include "base/check.h"

namespace dove::store {
namespace {

// Numbers of a link's text, eight bytes each, most significant first.
template <std::size_t N>
std::string_view put_words(std::array<char, N * 8>& out,
                           const std::array<std::uint64_t, N>& words) {
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t byte = 0; byte < 8; ++byte) {
      out[i * 8 + byte] = static_cast<char>(words[i] >> (56 - 8 * byte));
    }
  }
  return {out.data(), out.size()};
}

}  // namespace

std::string hex_of(const Sha256& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned char byte : hash) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Sha256 sha256_from(std::string_view bytes) {
  Sha256 hash{};
  if (bytes.size() == hash.size()) std::memcpy(hash.data(), bytes.data(), hash.size());
  return hash;
}

Chain::Chain() : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
  CHECK(algorithm_ != nullptr && context_ != nullptr, "OpenSSL offers SHA-256");
}

Chain::~Chain() {
  EVP_MD_CTX_free(context_);
  EVP_MD_free(algorithm_);
}

Sha256 Chain::hash(std::string_view first, std::string_view second, std::string_view third) {
  Sha256 hash;
  const bool done = EVP_DigestInit_ex2(context_, algorithm_, nullptr) == 1 &&
                    EVP_DigestUpdate(context_, first.data(), first.size()) == 1 &&
                    EVP_DigestUpdate(context_, second.data(), second.size()) == 1 &&
                    EVP_DigestUpdate(context_, third.data(), third.size()) == 1 &&
                    EVP_DigestFinal_ex(context_, hash.data(), nullptr) == 1;
  CHECK(done, "SHA-256 of bytes in memory cannot fail");
  return hash;
}

Sha256 Chain::link(const Sha256& previous, const BatchHeader& h) {
  std::array<char, 80> text;
  const std::string_view words =
      put_words<10>(text, {'B', h.batch, h.epoch, static_cast<std::uint64_t>(h.at_us), h.first_seq,
                           h.events, h.decisions, h.decisions_digest,
                           h.state_hash.has_value() ? 1u : 0u, h.state_hash.value_or(0)});
  return hash(bytes_of(previous), words, "");
}

Sha256 Chain::link(const Sha256& previous, std::uint64_t seq, bool is_decision,
                   std::string_view body) {
  std::array<char, 32> text;
  const std::string_view words = put_words<4>(text, {'R', seq, is_decision ? 1u : 0u, body.size()});
  return hash(bytes_of(previous), words, body);
}

Sha256 Chain::of(std::string_view bytes) { return hash(bytes, "", ""); }

}  // namespace dove::store
