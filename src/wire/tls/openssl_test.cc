#include "wire/tls/openssl.h"

#include <gtest/gtest.h>
#include <openssl/buffer.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <string>
#include <vector>

namespace dove::wire {
namespace {

// Thousands of connections each keep two of them.
TEST(OpenSsl, ABufferThatIsEmptiedKeepsLittleRoomAndStaysInUse) {
  const BioPtr memory(BIO_new(BIO_s_mem()));
  BIO_set_mem_eof_return(memory.get(), -1);
  for (const std::size_t size : {100UL, 64'000UL, 10UL}) {
    const std::string said(size, 'x');
    ASSERT_EQ(BIO_write(memory.get(), said.data(), static_cast<int>(size)), static_cast<int>(size));
    EXPECT_EQ(text_of(memory.get()), said);
    empty(memory.get());
    EXPECT_EQ(text_of(memory.get()), "");
    BUF_MEM* held = nullptr;
    BIO_get_mem_ptr(memory.get(), &held);
    EXPECT_LE(held->max, 512U) << size;
    char byte = 0;
    EXPECT_EQ(BIO_read(memory.get(), &byte, 1), -1) << "no end, but nothing yet";
    EXPECT_TRUE(BIO_should_retry(memory.get()));
  }
}

using Number = std::unique_ptr<BIGNUM, Freed<BN_clear_free>>;

Number number_of(const KeyPtr& key, const char* name) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key.get(), name, &number);
  return Number(number);
}

// The public half of one and the private half of another.
KeyPtr rsa_of(const KeyPtr& shown, const KeyPtr& signs) {
  const std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>> builder(OSSL_PARAM_BLD_new());
  std::vector<Number> numbers;  // until they are copied
  const auto push = [&](const KeyPtr& from, const char* name) {
    numbers.push_back(number_of(from, name));
    OSSL_PARAM_BLD_push_BN(builder.get(), name, numbers.back().get());
  };
  push(shown, OSSL_PKEY_PARAM_RSA_N);
  push(shown, OSSL_PKEY_PARAM_RSA_E);
  for (const char* name : {OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_FACTOR1,
                           OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PKEY_PARAM_RSA_EXPONENT1,
                           OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1}) {
    push(signs, name);
  }
  const std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>> params(
      OSSL_PARAM_BLD_to_param(builder.get()));
  const std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* made = nullptr;
  EVP_PKEY_fromdata_init(context.get());
  EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_KEYPAIR, params.get());
  return KeyPtr(made);
}

std::string pem_of(const KeyPtr& key) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(out.get());
}

std::string certificate_with(const KeyPtr& key, const EVP_MD* digest) {
  const CertificatePtr made(X509_new());
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
  X509_set_pubkey(made.get(), key.get());
  EXPECT_GT(X509_sign(made.get(), key.get(), digest), 0);
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), made.get());
  return text_of(out.get());
}

TEST(OpenSsl, AnRsaKeyThatSignsAsAnotherDoesNotBelongToItsCertificate) {
  const KeyPtr key(EVP_RSA_gen(2048));
  const std::string certificate = certificate_with(key, EVP_sha256());
  EXPECT_TRUE(belong_together({certificate, pem_of(key)}).ok());
  const KeyPtr other(EVP_RSA_gen(2048));
  const KeyPtr same = rsa_of(key, key);
  ASSERT_NE(same, nullptr);
  EXPECT_TRUE(belong_together({certificate, pem_of(same)}).ok());
  const KeyPtr changed = rsa_of(key, other);
  ASSERT_NE(changed, nullptr);
  const auto fits = belong_together({certificate, pem_of(changed)});
  ASSERT_FALSE(fits.ok());
  EXPECT_EQ(fits.error().code, "bad_key");
}

TEST(OpenSsl, KeysOfOtherKindsBelongToTheirCertificates) {
  const KeyPtr ed25519(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  EXPECT_TRUE(belong_together({certificate_with(ed25519, nullptr), pem_of(ed25519)}).ok());
  const KeyPtr curve(EVP_EC_gen("P-384"));
  EXPECT_TRUE(belong_together({certificate_with(curve, EVP_sha384()), pem_of(curve)}).ok());
}

// A certificate of that name and key, signed by the issuer.
std::string signed_by(const char* issuer, const KeyPtr& issuers, const char* name,
                      const KeyPtr& key) {
  const auto put = [](X509_NAME* to, const char* text) {
    X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text),
                               -1, -1, 0);
  };
  const CertificatePtr made(X509_new());
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
  put(X509_get_subject_name(made.get()), name);
  put(X509_get_issuer_name(made.get()), issuer);
  X509_set_pubkey(made.get(), key.get());
  EXPECT_GT(X509_sign(made.get(), issuers.get(), EVP_sha256()), 0);
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), made.get());
  return text_of(out.get());
}

TEST(OpenSsl, AChainMayBeInAnyOrderAndEndsWhereItsAuthorityIsNotInTheFile) {
  const KeyPtr root(EVP_EC_gen("P-256"));
  const KeyPtr middle(EVP_EC_gen("P-256"));
  const KeyPtr other(EVP_EC_gen("P-256"));
  const std::string leaf = signed_by("middle", middle, "leaf", other);
  const std::string sub = signed_by("root", root, "middle", middle);
  const std::string top = signed_by("root", root, "root", root);
  const std::string cross = signed_by("elsewhere", other, "root", root);
  EXPECT_TRUE(check_chain(leaf).ok());
  EXPECT_TRUE(check_chain(leaf + sub).ok());
  EXPECT_TRUE(check_chain(leaf + sub + top).ok());
  EXPECT_TRUE(check_chain(leaf + cross + top + sub).ok()) << "any order, and a cross-signed root";
  EXPECT_FALSE(check_chain(leaf + top).ok()) << "the one in between is missing";
  const std::string changed = signed_by("root", other, "middle", middle);
  EXPECT_FALSE(check_chain(leaf + changed + top).ok());
  EXPECT_TRUE(check_chain(leaf + changed).ok()) << "nobody here knows its authority";
  // Clients that know the former root alone need the next one as the former has signed it.
  const std::string next = signed_by("root", root, "root", other);
  EXPECT_TRUE(check_chain(signed_by("root", other, "leaf", middle) + next).ok());
}

}  // namespace
}  // namespace dove::wire
