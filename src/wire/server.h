// Server answers HTTP/1.1 (and 1.0) on one Loop: limits, time-outs, pipelining, streams. Peers that
// agree on HTTP/2 in their TLS handshake (TlsServerOptions::http2) are answered in that.
//
// The handler runs on the loop thread, once per request whose head and body have arrived whole and
// within the limits; what breaks a limit is answered here, with problem+json, and never reaches it.
// On one connection of HTTP/1 requests are handled one after the other, in order; on one of HTTP/2
// a few are at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/responder.h"
#include "wire/server_limits.h"

namespace dove::wire {

struct ServerState;
class Tls;

// Made, used and destroyed on the loop thread (or before the loop runs).
class Server {
 public:
  Server(Loop& loop, ServerLimits limits, Handler handler);
  // Drops every connection. Responders and Outflows that remain turn inert.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // `host`: an address or a name of this machine; port 0 takes a free one; with `tls` requests come
  // over TLS alone. May be called again for a further address. Errors: address_in_use, bind_denied,
  // bad_address.
  Result<void> listen(const std::string& host, std::uint16_t port,
                      std::shared_ptr<const Tls> tls = nullptr);
  // Also on a socket of the file system, in plain HTTP: its peers are known by the kernel's word
  // (Request::peer_identity is "unix:UID"). Errors: bad_address.
  Result<void> listen_unix(const std::string& path);
  // The port of the first listen().
  std::uint16_t port() const;
  std::size_t connections() const;
  // Ends all connections of a peer (Request::peer_identity) at once, whatever is in progress there.
  void drop(const std::string& peer_identity);

  // Stops accepting, closes idle connections and streams, lets requests in progress be answered for
  // at most `grace`, then drops what is left and calls `on_done` (if any), once.
  void shutdown(std::chrono::microseconds grace = std::chrono::seconds(5),
                std::function<void()> on_done = {});

 private:
  std::shared_ptr<ServerState> state_;
};

}  // namespace dove::wire
