// Tls: what one end of encrypted connections presents to its peers, and which peers it trusts (TLS
// 1.3).
//
// Shared by all connections of a server or a client; loop thread only. Sessions of TLS are not
// resumed. A client that was given a PSK (wire/tls/psk.h) needs no certificate while the PSK lasts;
// a server that does not accept it is shown certificates as usual.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/tls/authority.h"
#include "wire/tls/psk.h"

namespace dove::wire {

// By which time certificates and keys are judged.
struct TlsTime {
  std::function<std::int64_t()> now_s = {};  // since 1970; unset: by this machine's clock
  // A certificate that begins later is taken, too. Only an authority makes one, so it says of whom
  // it is all the same; that somebody's clock is wrong is another question.
  bool may_begin_later = false;
};

// What a server shows, and asks of its clients.
struct TlsServerOptions {
  Credentials own = {};
  std::string client_authorities_pem = {};  // "": clients show no certificate; else each must
  bool allows_1_2 = false;
  TlsTime time = {};
  bool http2 = false;  // where the client offers it (ALPN); else HTTP/1.1
};

// What a client shows, and whom it takes for the server.
struct TlsClientOptions {
  std::string authorities_pem = {};   // "": those of the system, unless a digest is given
  std::string authority_digest = {};  // Authority::digest() of the only one, shown in the handshake
  std::string server_uri = {};        // the server has this URI in place of the host's name
  Credentials own = {};               // empty: none
  TlsTime time = {};
};

class Tls {
 public:
  // Errors: bad_certificate, bad_key, wrong_key.
  static Result<std::shared_ptr<Tls>> for_server(const TlsServerOptions& options);
  static Result<std::shared_ptr<Tls>> for_client(const TlsClientOptions& options);
  ~Tls();

  // For connections from now on; those that are open go on. Errors: as above.
  Result<void> show(const Credentials& own);
  // Whom it believes from now on, in place of those before. Errors: bad_certificate.
  Result<void> believe(const std::string& authorities_pem);

  // A server's: whose PSKs it takes from now on.
  void take_psks_of(std::vector<PskIssuer> issuers);
  // Whether the peer of that URI, by whatever it shows, is one to speak with. Asked in each
  // handshake, so it does not wait; unset: everybody who is believed is.
  void let_in(std::function<bool(const std::string& uri)> may_enter);
  // A client's: shows it from now on. REQUIRES: no server_uri is asked for.
  void show_psk(Psk psk);

  // For the files of wire/tls/ alone.
  struct State;
  State& state() const { return *state_; }

 private:
  explicit Tls(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dove::wire
