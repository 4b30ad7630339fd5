#include "wire/tls/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "wire/secret.h"
#include "wire/tls/tls_state.h"

namespace dove::wire {
namespace {

constexpr int kChainMax = 4;

std::string when(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

Result<void> show_in(SSL_CTX* context, const Credentials& own) {
  TRY(belong_together(own));
  TRY_ASSIGN(auto chain, certificates_of(own.chain_pem));
  TRY_ASSIGN(const KeyPtr key, key_of(own.key_pem));
  bool good = SSL_CTX_use_certificate(context, chain.front().get()) == 1;
  SSL_CTX_clear_chain_certs(context);
  for (std::size_t i = 1; i < chain.size(); ++i) {
    good = good && SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  good = good && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  if (good) return {};
  return Error{ErrorKind::kInvalid, "bad_certificate",
               fmt::format("the certificate cannot be used: {}", openssl_error()), ""};
}

Result<void> believe(SSL_CTX* context, const std::string& authorities_pem) {
  TRY_ASSIGN(const auto authorities, certificates_of(authorities_pem));
  X509_STORE* store = X509_STORE_new();  // connections that are open keep the former one
  CHECK(store != nullptr, "OpenSSL has memory");
  for (const CertificatePtr& authority : authorities) {
    X509_STORE_add_cert(store, authority.get());
  }
  // What a file names is believed, also one that another authority vouches for.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_cert_store(context, store);
  return {};
}

ContextPtr new_context(const SSL_METHOD* method, bool allows_1_2) {
  ContextPtr context(SSL_CTX_new(method));
  CHECK(context != nullptr, "OpenSSL has memory");
  SSL_CTX_set_min_proto_version(context.get(), allows_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_verify_depth(context.get(), kChainMax);
  return context;
}

const Tls::State& state_of(const SSL* ssl) {
  return *static_cast<const Tls::State*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

// A peer that is believed and may not come in. Its certificate is the last that is looked at.
bool is_kept_out(X509_STORE_CTX* chain) {
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const X509* leaf = X509_STORE_CTX_get0_cert(chain);
  const Tls::State& state = state_of(ssl);
  if (!state.may_enter || leaf == nullptr || X509_STORE_CTX_get_error_depth(chain) != 0) {
    return false;
  }
  return state.keeps_out(facts_of(*leaf).uri);
}

// Keeps what the certificate says that is refused, for the message.
int note_refused(int good, X509_STORE_CTX* chain) {
  if (good == 1 && is_kept_out(chain)) {
    X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_REVOKED);
    good = 0;
  }
  const X509* refused = X509_STORE_CTX_get0_cert(chain);
  if (good == 1 || refused == nullptr) return good;
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const bool begins_later = X509_STORE_CTX_get_error(chain) == X509_V_ERR_CERT_NOT_YET_VALID;
  if (begins_later && state_of(ssl).time.may_begin_later) {
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
  }
  if (auto* shaking = static_cast<Shaking*>(SSL_get_app_data(ssl))) {
    shaking->refused = facts_of(*refused);
  }
  return good;
}

// A session as a PSK stands for it: TLS 1.3 and the hash that both ends like best.
SSL_SESSION* session_of(SSL* ssl, const std::string& key) {
  constexpr unsigned char kAes256GcmSha384[] = {0x13, 0x02};
  SSL_SESSION* session = SSL_SESSION_new();
  CHECK(session != nullptr, "OpenSSL has memory");
  const bool made =
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()),
                                  key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, kAes256GcmSha384)) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  CHECK(made, "OpenSSL has TLS_AES_256_GCM_SHA384");
  return session;
}

// A PSK that is not known is as none: the handshake goes on with certificates.
int find_psk(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  *session = nullptr;
  const Tls::State& state = state_of(ssl);
  auto* shaking = static_cast<Shaking*>(SSL_get_app_data(ssl));
  const std::string_view shown(reinterpret_cast<const char*>(identity), size);
  for (const PskIssuer& issuer : state.issuers) {
    auto found = issuer.find(shown, state.now_s());
    if (!found || state.keeps_out(found->uri)) continue;
    *session = session_of(ssl, found->key);
    shaking->psk_uri = std::move(found->uri);
    break;
  }
  return 1;
}

int show_psk(SSL* ssl, const EVP_MD* hash, const unsigned char** identity, std::size_t* size,
             SSL_SESSION** session) {
  *session = nullptr;
  *size = 0;
  const Tls::State& state = state_of(ssl);
  auto* shaking = static_cast<Shaking*>(SSL_get_app_data(ssl));
  const std::optional<Psk>& psk = state.psk;
  if (!psk || psk->until_s <= state.now_s()) return 1;
  // The server has asked to begin anew, and chosen a cipher with another hash.
  if (hash != nullptr && !EVP_MD_is_a(hash, "SHA2-384")) return 1;
  *session = session_of(ssl, psk->key);
  *identity = reinterpret_cast<const unsigned char*>(psk->identity.data());
  *size = psk->identity.size();
  shaking->psk_shown = true;
  return 1;
}

// HTTP/2 where it is offered. Whoever offers something else alone is answered in HTTP/1.1, as one
// that offers nothing.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  for (const std::string_view wanted : {"h2", "http/1.1"}) {
    for (unsigned int at = 0; at < offered_size; at += 1U + offered[at]) {
      if (std::string_view(reinterpret_cast<const char*>(offered) + at + 1, offered[at]) !=
          wanted) {
        continue;
      }
      *chosen = offered + at + 1;
      *size = offered[at];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_NOACK;
}

// The authority is the one certificate of the chain that was shown whose key has the digest; what
// it vouches for is then verified as always.
int verify_by_digest(X509_STORE_CTX* chain, void* options) {
  const auto& digest = static_cast<const TlsClientOptions*>(options)->authority_digest;
  const STACK_OF(X509)* shown = X509_STORE_CTX_get0_untrusted(chain);
  STACK_OF(X509)* trusted = sk_X509_new_null();
  for (int i = 0; i < sk_X509_num(shown); ++i) {
    X509* one = sk_X509_value(shown, i);
    if (equal_constant_time(facts_of(*one).key_digest, digest)) sk_X509_push(trusted, one);
  }
  X509_STORE_CTX_set0_trusted_stack(chain, trusted);
  const int verdict = X509_verify_cert(chain);
  sk_X509_free(trusted);
  return verdict;
}

}  // namespace

Error distrust(long verdict, const CertificateFacts& facts, std::int64_t now_s,
               const std::string& where, const std::string& host) {
  const auto error = [&](const char* code, const std::string& message) {
    return Error{ErrorKind::kUnavailable, code, fmt::format("{}: {}", where, message), ""};
  };
  const std::string now = when(now_s);
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return error("certificate_expired",
                   fmt::format("its certificate ended at {}, and this machine's clock says {}; "
                               "look at both clocks, then renew the certificate",
                               when(facts.not_after_s), now));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return error("certificate_not_yet_valid",
                   fmt::format("its certificate begins at {}, and this machine's clock says {}; "
                               "set the clock that is wrong",
                               when(facts.not_before_s), now));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return error("certificate_wrong_name",
                   fmt::format("its certificate is for {}, not for {}; connect by one of those "
                               "names, or start the server with --tls-name {}",
                               fmt::join(facts.names, ", "), host, host));
    case X509_V_ERR_CERT_REVOKED:
      return error("certificate_refused",
                   fmt::format("its certificate, of '{}', is taken no more", facts.uri));
    default:
      return error("certificate_untrusted",
                   fmt::format("its certificate is not from an authority that is trusted here "
                               "({}); name the cluster's with --ca-file or DOVE_CA_FILE (`dove ca "
                               "show` on the controller prints it)",
                               X509_verify_cert_error_string(verdict)));
  }
}

Tls::Tls(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tls::~Tls() = default;

Result<std::shared_ptr<Tls>> Tls::for_server(const TlsServerOptions& options) {
  auto state = std::make_unique<State>();
  state->is_server = true;
  state->time = options.time;
  state->context = new_context(TLS_server_method(), options.allows_1_2);
  SSL_CTX* context = state->context.get();
  SSL_CTX_set_app_data(context, state.get());
  SSL_CTX_set_psk_find_session_callback(context, find_psk);
  if (options.http2) SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  // OpenSSL resumes no session without one where it verifies clients.
  constexpr unsigned char kSessions[] = "dove";
  SSL_CTX_set_session_id_context(context, kSessions, sizeof kSessions - 1);
  TRY(show_in(context, options.own));
  if (!options.client_authorities_pem.empty()) {
    TRY(wire::believe(context, options.client_authorities_pem));
    SSL_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, note_refused);
  }
  return std::shared_ptr<Tls>(new Tls(std::move(state)));
}

Result<std::shared_ptr<Tls>> Tls::for_client(const TlsClientOptions& options) {
  auto state = std::make_unique<State>();
  state->client = options;
  state->client.own = {};
  state->time = options.time;
  state->context = new_context(TLS_client_method(), /*allows_1_2=*/true);
  SSL_CTX* context = state->context.get();
  SSL_CTX_set_app_data(context, state.get());
  SSL_CTX_set_psk_use_session_callback(context, wire::show_psk);
  if (!options.own.chain_pem.empty()) TRY(show_in(context, options.own));
  SSL_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, note_refused);
  if (!options.authorities_pem.empty()) {
    TRY(wire::believe(context, options.authorities_pem));
  } else if (!options.authority_digest.empty()) {
    SSL_CTX_set_cert_verify_callback(context, verify_by_digest, &state->client);
  } else {
    SSL_CTX_set_default_verify_paths(context);
  }
  return std::shared_ptr<Tls>(new Tls(std::move(state)));
}

Result<void> Tls::show(const Credentials& own) { return show_in(state_->context.get(), own); }

void Tls::take_psks_of(std::vector<PskIssuer> issuers) { state_->issuers = std::move(issuers); }

void Tls::let_in(std::function<bool(const std::string& uri)> may_enter) {
  state_->may_enter = std::move(may_enter);
}

void Tls::show_psk(Psk psk) {
  CHECK(state_->client.server_uri.empty(), "a PSK proves no URI of the server");
  state_->psk = std::move(psk);
}

Result<void> Tls::believe(const std::string& authorities_pem) {
  return wire::believe(state_->context.get(), authorities_pem);
}

}  // namespace dove::wire
