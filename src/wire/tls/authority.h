// Authority: a certificate authority of our own, and what it makes: keys, requests, certificates
// (X.509 v3, RFC 5280; P-256 with SHA-256).
//
// Pure except for random bytes and the clock that is passed in; thread-safe. Texts are PEM. Private
// keys are PKCS#8 without a passphrase: a file on disk that holds one needs mode 0600.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::wire {

// What one end shows and proves: its certificate with those above it, leaf first, and its key.
struct Credentials {
  std::string chain_pem = {};
  std::string key_pem = {};
};

// What a certificate says. Seconds since 1970.
struct CertificateFacts {
  std::int64_t not_before_s = 0;
  std::int64_t not_after_s = 0;
  std::string uri;                 // the first URI among its names: "dove://dove/node/n1"
  std::vector<std::string> names;  // DNS names and addresses
  std::string key_digest;          // SHA-256 of its SubjectPublicKeyInfo, hexadecimal
  bool is_authority = false;
};

// How much earlier a certificate begins than it is made: so far may clocks of those who verify be
// off.
inline constexpr std::int64_t kBeginsBefore_s = 300;

// What an Authority vouches for.
struct Grant {
  std::string uri = {};                 // "": none
  std::vector<std::string> names = {};  // DNS names and addresses
  std::int64_t now_s = 0;               // the certificate begins kBeginsBefore_s earlier
  std::int64_t valid_s = 0;             // from now_s
};

std::string make_private_key();
// PKCS#10, signed with the key and empty else: the authority decides what the certificate says.
// Error: bad_key.
Result<std::string> certificate_request(const std::string& key_pem);
// SHA-256 of its SubjectPublicKeyInfo, hexadecimal. Error: bad_key.
Result<std::string> key_digest(const std::string& key_pem);
// The first certificate of `pem`. Error: bad_certificate.
Result<CertificateFacts> read_certificate(std::string_view pem);
// Whether the key is that of the chain's first certificate, and signs as it. Errors:
// bad_certificate, bad_key, wrong_key.
Result<void> belong_together(const Credentials& credentials);
// Whether the first certificate is signed by another of the file, if there are more, and each of
// the others by one of the file, if its issuer is there. In any order. Error: bad_certificate.
Result<void> check_chain(const std::string& chain_pem);

class Authority {
 public:
  // A new one, valid for ten years, that may sign leaves alone.
  static Authority make(const std::string& name, std::int64_t now_s);
  // Errors: bad_certificate (its signature, too), bad_key, wrong_key; not_an_authority.
  static Result<Authority> open(Credentials credentials);
  ~Authority();
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;

  const Credentials& credentials() const;
  // SHA-256 of its SubjectPublicKeyInfo, hexadecimal: what a join token carries.
  const std::string& digest() const;
  // A certificate for the request's key that says what `grant` says and serves both ends of a
  // connection, with the authority's own behind it. Errors: bad_request (also where the request's
  // signature is not by its key).
  Result<std::string> issue(const std::string& request_pem, const Grant& grant) const;
  // 32 bytes that follow from its private key and the purpose: whoever has the key has them.
  std::string derive(std::string_view purpose) const;

 private:
  struct State;
  explicit Authority(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dove::wire
