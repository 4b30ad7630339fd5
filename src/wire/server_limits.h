// ServerLimits: what a Server accepts from its peers, and for how long. The comments name the
// answer to a peer that exceeds a limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "base/result.h"
#include "wire/http.h"

namespace dove::wire {

struct ServerLimits {
  std::size_t header_bytes = 16 * 1024;      // 431 headers_too_large
  std::size_t body_bytes = 8 * 1024 * 1024;  // 413 body_too_large
  std::size_t stream_buffer_bytes =
      4 * 1024 * 1024;  // of an Outflow; beyond it the peer is dropped
  // 503 too_many_connections; those of the Unix socket have room of their own.
  std::size_t connections_max = 20000;
  // Connections of one network (address.h), but this machine; of one certificate; of one user of
  // the Unix socket. 429 rate_limited
  std::size_t peer_max = 4000;
  // TLS handshakes in progress, in all and of one network, but this machine; beyond it connections
  // are closed. Where all are in progress, the oldest that has said no hello for hello_time makes
  // room.
  std::size_t handshakes_max = 2000;
  std::size_t handshakes_peer_max = 250;
  std::chrono::microseconds hello_time = std::chrono::milliseconds(100);
  // Connection to first byte, which is closed, and first byte to last byte of the head; 408
  // request_timeout.
  std::chrono::microseconds header_timeout = std::chrono::seconds(10);
  // For each MiB of the body; 408 request_timeout.
  std::chrono::microseconds body_timeout = std::chrono::seconds(30);
  // Between requests; the connection is closed.
  std::chrono::microseconds idle_timeout = std::chrono::seconds(120);
  // For each MiB of what an answer has ready, to be taken by the peer; the connection is dropped.
  std::chrono::microseconds write_timeout = std::chrono::seconds(60);
  // Where set: asked about each request that has a body, before any of it is taken. Gives the limit
  // of that body, in place of body_bytes, or refuses it: then the answer is that error. `head` has
  // no body.
  std::function<Result<std::size_t>(const Request& head)> admit;
};

// Code of the error that is answered 429: its peer asks too much, and may ask again later.
inline constexpr char kRateLimited[] = "rate_limited";

// As that of its kind (http.h), but for kRateLimited.
int status_of(const Error& error);

}  // namespace dove::wire
