#include "wire/tls/seal.h"

#include <fmt/format.h>
#include <openssl/pem.h>
// After pem.h, without which it declares no PEM functions.
#include <openssl/cms.h>

#include <memory>

#include "base/check.h"
#include "wire/tls/openssl.h"

namespace dove::wire {
namespace {

using CmsPtr = std::unique_ptr<CMS_ContentInfo, Freed<CMS_ContentInfo_free>>;

struct StackFreed {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }
};
using StackPtr = std::unique_ptr<STACK_OF(X509), StackFreed>;

BioPtr memory() {
  BioPtr bio(BIO_new(BIO_s_mem()));
  CHECK(bio != nullptr, "OpenSSL has memory");
  return bio;
}

}  // namespace

Result<std::string> seal(std::string_view text, const std::string& certificate_pem) {
  TRY_ASSIGN(const std::vector<CertificatePtr> certificates, certificates_of(certificate_pem));
  const StackPtr recipients(sk_X509_new_null());
  sk_X509_push(recipients.get(), certificates.front().get());
  const BioPtr plain = bio_of(text);
  const CmsPtr sealed(CMS_encrypt(recipients.get(), plain.get(), EVP_aes_256_gcm(), CMS_BINARY));
  const BioPtr out = memory();
  if (sealed == nullptr || PEM_write_bio_CMS(out.get(), sealed.get()) != 1) {
    return Error{
        ErrorKind::kInvalid, "cannot_seal",
        fmt::format("nothing can be sealed for this certificate ({}): give one with an RSA "
                    "or EC key",
                    openssl_error()),
        ""};
  }
  return text_of(out.get());
}

Result<std::string> unseal(const std::string& sealed, const std::string& key_pem) {
  TRY_ASSIGN(const KeyPtr key, key_of(key_pem));
  const BioPtr in = bio_of(sealed);
  const CmsPtr cms(PEM_read_bio_CMS(in.get(), nullptr, nullptr, nullptr));
  const BioPtr out = memory();
  if (cms == nullptr ||
      CMS_decrypt(cms.get(), key.get(), nullptr, nullptr, out.get(), CMS_BINARY) != 1) {
    return Error{
        ErrorKind::kDenied, "cannot_unseal",
        fmt::format("it was sealed for another key, or changed since ({})", openssl_error()), ""};
  }
  return text_of(out.get());
}

}  // namespace dove::wire
