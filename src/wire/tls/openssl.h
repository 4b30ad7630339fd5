// OpenSSL's objects with owners, and its errors as text. For the files of wire/tls/ and openid/.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/tls/authority.h"

namespace dove::wire {

template <auto free_one>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free_one(object);
  }
};

using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, Freed<X509_REQ_free>>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;

// The oldest error of this thread's queue, which is emptied: "unknown" when there is none.
std::string openssl_error();

BioPtr bio_of(std::string_view text);
std::string text_of(BIO* memory);
// Empties it and gives back what it had grown to: a buffer in memory keeps the room of the most
// that it ever held.
void empty(BIO* memory);

// Whether the private half is that of the public one, which a key in PEM has, too. Error: bad_key.
Result<void> check_halves(EVP_PKEY* key);
// Whether `key` signs what `shown`, its public half in a certificate, verifies: of keys whose
// halves take long to compare (RSA). Error: bad_key.
Result<void> check_signing(EVP_PKEY* key, EVP_PKEY* shown);
// Errors: bad_key, bad_certificate, named after what is wrong with the text.
Result<KeyPtr> key_of(const std::string& pem);
Result<std::vector<CertificatePtr>> certificates_of(std::string_view pem);
CertificateFacts facts_of(const X509& certificate);

}  // namespace dove::wire
