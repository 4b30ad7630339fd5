// The internals of a Tls. For the files of wire/tls/ alone.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/tls/openssl.h"
#include "wire/tls/tls.h"

namespace dove::wire {

struct Tls::State {
  ContextPtr context;
  bool is_server = false;
  TlsTime time;
  TlsClientOptions client;         // of a client's, without `own`
  std::vector<PskIssuer> issuers;  // of a server's
  std::function<bool(const std::string& uri)> may_enter;
  std::optional<Psk> psk;  // of a client's

  bool keeps_out(const std::string& uri) const { return may_enter && !may_enter(uri); }
  std::int64_t now_s() const { return time.now_s ? time.now_s() : std::time(nullptr); }
};

// What one handshake finds out; the SSL's app data.
struct Shaking {
  CertificateFacts refused;  // the peer's certificate, if it is not believed
  std::string psk_uri;       // whose PSK was shown; it counts where the handshake went by it
  bool psk_shown = false;    // by this client
};

// Why a certificate was not believed at that time: X509_V_ERR_… with the peer's certificate as
// facts.
Error distrust(long verdict, const CertificateFacts& facts, std::int64_t now_s,
               const std::string& where, const std::string& host);

}  // namespace dove::wire
