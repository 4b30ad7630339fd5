#include "wire/tls/openssl.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "base/check.h"
#include "wire/secret.h"

namespace dove::wire {
namespace {

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(timegm(&parts)) : 0;
}

std::string_view bytes_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(std::string_view bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

// Certificates alone: nobody is asked for a passphrase.
int no_passphrase(char*, int, int, void*) { return 0; }

}  // namespace

std::string openssl_error() {
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  if (first == 0) return "unknown";
  const char* reason = ERR_reason_error_string(first);
  return reason == nullptr ? fmt::format("error {:x}", first) : reason;
}

BioPtr bio_of(std::string_view text) {
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  CHECK(bio != nullptr, "OpenSSL has memory");
  return bio;
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

void empty(BIO* memory) {
  constexpr std::size_t kKeptBytes = 512;  // so that small messages cost no allocation each
  BUF_MEM* held = nullptr;
  BIO_get_mem_ptr(memory, &held);
  if (held->max <= kKeptBytes) {
    BIO_reset(memory);
    return;
  }
  BUF_MEM* fresh = BUF_MEM_new();
  CHECK(fresh != nullptr, "OpenSSL has memory");
  BIO_set_mem_buf(memory, fresh, BIO_CLOSE);
}

namespace {

Error changed_key() {
  return {ErrorKind::kInvalid, "bad_key",
          "the two halves of the private key do not belong together: it was changed", ""};
}

}  // namespace

Result<void> check_signing(EVP_PKEY* key, EVP_PKEY* shown) {
  using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
  constexpr unsigned char kText[] = "whether it signs";  // with the digest that suits the key
  const Digest signs(EVP_MD_CTX_new());
  const Digest verifies(EVP_MD_CTX_new());
  CHECK(signs != nullptr && verifies != nullptr, "OpenSSL has memory");
  std::vector<unsigned char> signature(static_cast<std::size_t>(EVP_PKEY_get_size(key)));
  std::size_t size = signature.size();
  const bool is_good =
      EVP_DigestSignInit(signs.get(), nullptr, nullptr, nullptr, key) == 1 &&
      EVP_DigestSign(signs.get(), signature.data(), &size, kText, sizeof kText) == 1 &&
      EVP_DigestVerifyInit(verifies.get(), nullptr, nullptr, nullptr, shown) == 1 &&
      EVP_DigestVerify(verifies.get(), signature.data(), size, kText, sizeof kText) == 1;
  if (is_good) return {};
  openssl_error();
  return changed_key();
}

Result<void> check_halves(EVP_PKEY* key) {
  const std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  if (context != nullptr && EVP_PKEY_pairwise_check(context.get()) == 1) return {};
  openssl_error();
  return changed_key();
}

Result<KeyPtr> key_of(const std::string& pem) {
  const BioPtr bio = bio_of(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (key != nullptr) {
    // Other kinds take long: check_signing() is for them.
    if (EVP_PKEY_is_a(key.get(), "EC") == 1) TRY(check_halves(key.get()));
    return key;
  }
  return Error{ErrorKind::kInvalid, "bad_key",
               fmt::format("not a private key in PEM without a passphrase: {}", openssl_error()),
               ""};
}

Result<std::vector<CertificatePtr>> certificates_of(std::string_view pem) {
  const BioPtr bio = bio_of(pem);
  std::vector<CertificatePtr> found;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) {
    found.emplace_back(next);
  }
  const std::string why = openssl_error();  // of the end of the text, too
  if (!found.empty()) return found;
  return Error{ErrorKind::kInvalid, "bad_certificate",
               fmt::format("no certificate in PEM: {}", why), ""};
}

CertificateFacts facts_of(const X509& certificate) {
  CertificateFacts facts;
  facts.not_before_s = seconds_of(X509_get0_notBefore(&certificate));
  facts.not_after_s = seconds_of(X509_get0_notAfter(&certificate));
  auto& own = const_cast<X509&>(certificate);  // OpenSSL caches extensions in it
  facts.is_authority = X509_check_ca(&own) == 1;
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &der);
  if (size > 0) {
    facts.key_digest =
        sha256_hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  }
  OPENSSL_free(der);
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) facts.names.emplace_back(bytes_of(name->d.dNSName));
    if (name->type == GEN_IPADD) facts.names.push_back(address_text(bytes_of(name->d.iPAddress)));
    if (name->type == GEN_URI && facts.uri.empty()) {
      facts.uri = bytes_of(name->d.uniformResourceIdentifier);
    }
  }
  GENERAL_NAMES_free(names);
  return facts;
}

}  // namespace dove::wire
