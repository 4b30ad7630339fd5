#include "wire/tls/authority.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "base/check.h"
#include "wire/secret.h"
#include "wire/tls/openssl.h"

namespace dove::wire {
namespace {

constexpr std::int64_t kDay_s = 24 * 3600;
constexpr std::int64_t kAuthorityLife_s = 3650 * kDay_s;

KeyPtr new_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  CHECK(key != nullptr, "OpenSSL makes keys on P-256");
  return key;
}

std::string pem_of(EVP_PKEY* key) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
        "a key can be written to memory");
  return text_of(out.get());
}

std::string pem_of(X509* certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_X509(out.get(), certificate) == 1, "a certificate can be written to memory");
  return text_of(out.get());
}

void set_times(X509* certificate, std::int64_t from_s, std::int64_t until_s) {
  ASN1_TIME_set(X509_getm_notBefore(certificate), from_s);
  ASN1_TIME_set(X509_getm_notAfter(certificate), until_s);
}

// RFC 5280, 4.1.2.2: positive, at most 20 bytes; random ones need no counter on disk.
void set_serial(X509* certificate) {
  unsigned char bytes[16];
  CHECK(RAND_bytes(bytes, sizeof bytes) == 1, "OpenSSL has random bytes");
  bytes[0] = (bytes[0] & 0x7f) | 0x40;
  BIGNUM* number = BN_bin2bn(bytes, sizeof bytes, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
  BN_free(number);
}

void set_name(X509_NAME* name, const std::string& text) {
  const std::string shown = text.substr(0, 64);  // RFC 5280's ub-common-name
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(shown.data()),
                             static_cast<int>(shown.size()), -1, 0);
}

void add(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  CHECK(extension != nullptr, "extensions are ours and well formed");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Not by OpenSSL's little language of "DNS:a,IP:b", whose commas a name could hold.
void add_names(X509* certificate, const Grant& grant) {
  GENERAL_NAMES* names = GENERAL_NAMES_new();
  const auto push = [&](int type, ASN1_STRING* text) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, type, text);
    sk_GENERAL_NAME_push(names, name);
  };
  const auto text = [](int type, const void* data, std::size_t size) {
    ASN1_STRING* out = ASN1_STRING_type_new(type);
    ASN1_STRING_set(out, data, static_cast<int>(size));
    return out;
  };
  if (!grant.uri.empty()) {
    push(GEN_URI, text(V_ASN1_IA5STRING, grant.uri.data(), grant.uri.size()));
  }
  for (const std::string& name : grant.names) {
    unsigned char address[16];
    if (inet_pton(AF_INET, name.c_str(), address) == 1) {
      push(GEN_IPADD, text(V_ASN1_OCTET_STRING, address, 4));
    } else if (inet_pton(AF_INET6, name.c_str(), address) == 1) {
      push(GEN_IPADD, text(V_ASN1_OCTET_STRING, address, 16));
    } else {
      push(GEN_DNS, text(V_ASN1_IA5STRING, name.data(), name.size()));
    }
  }
  X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT);
  GENERAL_NAMES_free(names);
}

Error bad_request(const std::string& why) {
  return Error{ErrorKind::kInvalid, "bad_request",
               fmt::format("not a certificate request that can be signed: {}", why), "request"};
}

bool is_signed_by(X509* certificate, X509* issuer) {
  EVP_PKEY* key = X509_get0_pubkey(issuer);
  const bool is_good = key != nullptr && X509_verify(certificate, key) == 1;
  if (!is_good) openssl_error();
  return is_good;
}

std::string der_of(const X509_NAME* name) {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  CHECK(X509_NAME_get0_der(name, &bytes, &size) == 1, "a name that was read can be written");
  return {reinterpret_cast<const char*>(bytes), size};
}

// Whether its issuer is not itself. One letter of PEM is in two bytes at most: two names that
// differ in no more are one name, of which one place was changed.
bool names_another(X509* own) {
  const std::string subject = der_of(X509_get_subject_name(own));
  const std::string issuer = der_of(X509_get_issuer_name(own));
  if (subject.size() != issuer.size()) return true;
  int others = 0;
  for (std::size_t i = 0; i < subject.size(); ++i) others += subject[i] == issuer[i] ? 0 : 1;
  return others > 2;
}

// Whether the last one's issuer is not in the file, as far as it says. It names the issuer's key
// (RFC 5280, 4.2.1.1), which a certificate signed by itself need not; some authorities do not.
bool is_anothers(const std::vector<CertificatePtr>& chain) {
  X509* own = chain.back().get();
  const ASN1_OCTET_STRING* issuer = X509_get0_authority_key_id(own);
  const ASN1_OCTET_STRING* subject = X509_get0_subject_key_id(own);
  if (issuer != nullptr) {
    return subject == nullptr || ASN1_OCTET_STRING_cmp(issuer, subject) != 0;
  }
  const bool is_here = std::any_of(chain.begin(), chain.end(), [own](const CertificatePtr& each) {
    return X509_NAME_cmp(X509_get_subject_name(each.get()), X509_get_issuer_name(own)) == 0;
  });
  return !is_here && names_another(own);
}

// A certificate that was damaged has no good signature. Whose issuer is not in the file cannot be
// verified here.
Result<void> check_signatures(const std::vector<CertificatePtr>& chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    X509* own = chain[i].get();
    if (is_signed_by(own, own)) continue;
    const bool is_last = i + 1 == chain.size();
    if (!is_last && is_signed_by(own, chain[i + 1].get())) continue;
    if (is_last && is_anothers(chain)) continue;
    return Error{ErrorKind::kInvalid, "bad_certificate",
                 "its signature does not match: the certificate was changed; if it is another "
                 "authority's, put that one's certificate behind it in the file",
                 ""};
  }
  return {};
}

}  // namespace

std::string make_private_key() { return pem_of(new_key().get()); }

Result<std::string> certificate_request(const std::string& key_pem) {
  TRY_ASSIGN(const KeyPtr key, key_of(key_pem));
  const RequestPtr request(X509_REQ_new());
  X509_REQ_set_version(request.get(), 0);
  X509_REQ_set_pubkey(request.get(), key.get());
  CHECK(X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0, "a key signs its request");
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(out.get(), request.get());
  return text_of(out.get());
}

Result<std::string> key_digest(const std::string& key_pem) {
  TRY_ASSIGN(const KeyPtr key, key_of(key_pem));
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key.get(), &der);
  CHECK(size > 0, "the public half of a key can be written");
  std::string digest =
      sha256_hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

Result<CertificateFacts> read_certificate(std::string_view pem) {
  TRY_ASSIGN(const auto chain, certificates_of(pem));
  return facts_of(*chain.front());
}

Result<void> belong_together(const Credentials& credentials) {
  TRY_ASSIGN(const auto chain, certificates_of(credentials.chain_pem));
  TRY_ASSIGN(const KeyPtr key, key_of(credentials.key_pem));
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    openssl_error();
    return Error{ErrorKind::kInvalid, "wrong_key",
                 "the private key is not that of the first certificate", ""};
  }
  return check_signing(key.get(), X509_get0_pubkey(chain.front().get()));
}

Result<void> check_chain(const std::string& chain_pem) {
  TRY_ASSIGN(const auto chain, certificates_of(chain_pem));
  for (const CertificatePtr& own : chain) {
    // Clients find their way through any order, and pass over what they do not need.
    bool is_signed_here = false;
    bool has_issuer_here = false;
    for (const CertificatePtr& other : chain) {
      if (other == own || X509_check_issued(other.get(), own.get()) != X509_V_OK) continue;
      has_issuer_here = true;
      is_signed_here = is_signed_here || is_signed_by(own.get(), other.get());
    }
    const bool needs_one = has_issuer_here || (own == chain.front() && chain.size() > 1);
    if (is_signed_here || !needs_one || is_signed_by(own.get(), own.get())) continue;
    return Error{ErrorKind::kInvalid, "bad_certificate",
                 own == chain.front()
                     ? "no other certificate of the file has signed the first one: put the one of "
                       "its issuer behind it, or leave the others out"
                     : "a signature in the chain does not match: a certificate was changed",
                 ""};
  }
  return {};
}

struct Authority::State {
  Credentials credentials;
  std::string digest;
  CertificatePtr certificate;
  KeyPtr key;
};

Authority::Authority(std::unique_ptr<State> state) : state_(std::move(state)) {}
Authority::~Authority() = default;
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;

Authority Authority::make(const std::string& name, std::int64_t now_s) {
  const KeyPtr key = new_key();
  const CertificatePtr own(X509_new());
  X509_set_version(own.get(), 2);
  set_serial(own.get());
  set_times(own.get(), now_s - kBeginsBefore_s, now_s + kAuthorityLife_s);
  set_name(X509_get_subject_name(own.get()), name);
  X509_set_issuer_name(own.get(), X509_get_subject_name(own.get()));
  X509_set_pubkey(own.get(), key.get());
  add(own.get(), own.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add(own.get(), own.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  add(own.get(), own.get(), NID_subject_key_identifier, "hash");
  CHECK(X509_sign(own.get(), key.get(), EVP_sha256()) > 0, "a key signs its certificate");
  Result<Authority> made = open({pem_of(own.get()), pem_of(key.get())});
  CHECK(made.ok(), "an authority just made can be opened");
  return std::move(made).value();
}

Result<Authority> Authority::open(Credentials credentials) {
  TRY(belong_together(credentials));
  auto state = std::make_unique<State>();
  TRY_ASSIGN(auto chain, certificates_of(credentials.chain_pem));
  TRY(check_signatures(chain));
  state->certificate = std::move(chain.front());
  TRY_ASSIGN(state->key, key_of(credentials.key_pem));
  TRY(check_halves(state->key.get()));
  const CertificateFacts facts = facts_of(*state->certificate);
  if (!facts.is_authority) {
    return Error{ErrorKind::kInvalid, "not_an_authority",
                 "the certificate is not one of an authority (CA:TRUE): it cannot sign others", ""};
  }
  state->digest = facts.key_digest;
  state->credentials = std::move(credentials);
  return Authority(std::move(state));
}

const Credentials& Authority::credentials() const { return state_->credentials; }

const std::string& Authority::digest() const { return state_->digest; }

// Not by the text of the key, which may be written in other ways.
std::string Authority::derive(std::string_view purpose) const {
  std::string key = pem_of(state_->key.get());
  std::string made = hmac_sha256(key, purpose);
  OPENSSL_cleanse(key.data(), key.size());
  return made;
}

Result<std::string> Authority::issue(const std::string& request_pem, const Grant& grant) const {
  const BioPtr in = bio_of(request_pem);
  const RequestPtr request(PEM_read_bio_X509_REQ(in.get(), nullptr, nullptr, nullptr));
  if (request == nullptr) return bad_request(openssl_error());
  EVP_PKEY* wanted = X509_REQ_get0_pubkey(request.get());
  if (wanted == nullptr) return bad_request(openssl_error());
  if (EVP_PKEY_is_a(wanted, "EC") != 1 || EVP_PKEY_get_security_bits(wanted) < 128) {
    return bad_request("its key is not one on P-256 or a stronger curve");
  }
  if (X509_REQ_verify(request.get(), wanted) != 1) {
    openssl_error();
    return bad_request("it is not signed with its own key");
  }
  X509* issuer = state_->certificate.get();
  const CertificatePtr leaf(X509_new());
  X509_set_version(leaf.get(), 2);
  set_serial(leaf.get());
  const std::int64_t last_s = facts_of(*issuer).not_after_s;
  set_times(leaf.get(), grant.now_s - kBeginsBefore_s,
            std::min(grant.now_s + grant.valid_s, last_s));
  set_name(X509_get_subject_name(leaf.get()), !grant.uri.empty()     ? grant.uri
                                              : !grant.names.empty() ? grant.names.front()
                                                                     : "dove");
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer));
  X509_set_pubkey(leaf.get(), wanted);
  add(leaf.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  add(leaf.get(), issuer, NID_key_usage, "critical,digitalSignature");
  add(leaf.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  add(leaf.get(), issuer, NID_authority_key_identifier, "keyid");
  add_names(leaf.get(), grant);
  CHECK(X509_sign(leaf.get(), state_->key.get(), EVP_sha256()) > 0, "the authority's key signs");
  return pem_of(leaf.get()) + state_->credentials.chain_pem;
}

}  // namespace dove::wire
