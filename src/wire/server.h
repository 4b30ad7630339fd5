// Server answers HTTP/1.1 (and 1.0) on one Loop: limits, time-outs, pipelining, streams.
//
// The handler runs on the loop thread, once per request whose head and body have arrived whole and
// within the limits; what breaks a limit is answered here, with problem+json, and never reaches it.
// On one connection requests are handled one after the other, in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"
#include "wire/loop.h"

namespace dove::wire {

struct ServerState;
class Stream;

// A connection that a request asked to leave HTTP on (wire/web_socket.h).
struct TakenOver {
  TakenOver();
  ~TakenOver();
  TakenOver(TakenOver&&) noexcept;
  std::unique_ptr<Stream> stream;  // nullptr: the peer is gone, or this is no connection of its own
  std::string early;               // what the peer has sent behind its request
};

struct ServerLimits {
  std::size_t header_bytes = 16 * 1024;      // 431 headers_too_large
  std::size_t body_bytes = 8 * 1024 * 1024;  // 413 body_too_large
  std::size_t stream_buffer_bytes =
      4 * 1024 * 1024;                  // of an Outflow; beyond it the peer is dropped
  std::size_t connections_max = 20000;  // 503 too_many_connections
  // First byte to last byte of the head; 408 request_timeout.
  std::chrono::microseconds header_timeout = std::chrono::seconds(10);
  // For each MiB of the body; 408 request_timeout.
  std::chrono::microseconds body_timeout = std::chrono::seconds(30);
  // Between requests; the connection is closed.
  std::chrono::microseconds idle_timeout = std::chrono::seconds(120);
  // Without any byte of an answer taken by the peer; the connection is dropped.
  std::chrono::microseconds write_timeout = std::chrono::seconds(60);
  // Where set: the limit of this request's body, in place of body_bytes. `path` is decoded.
  std::function<std::size_t(std::string_view method, std::string_view path)> body_limit;
};

// The writing end of a streamed answer (SSE, NDJSON). Loop thread only. Shared by the server and
// its user; when the user drops its last reference without close(), the stream is closed.
class Outflow {
 public:
  virtual ~Outflow() = default;
  // Queues bytes; all that is written in one turn of the loop leaves in one send. False when the
  // stream is closed, or when this write overflowed the buffer, which drops the peer.
  virtual bool write(std::string_view bytes) = 0;
  // Ends the stream once what is queued has left. Later writes return false.
  virtual void close() = 0;
  // `fn` is called once, in a later turn, when the stream ended without close(): peer gone,
  // overflow, server shut down. Replaces the former `fn`; called too when the end came before
  // on_closed().
  virtual void on_closed(std::function<void()> fn) = 0;
  // Queued and not yet taken by the system.
  virtual std::size_t buffered_bytes() const = 0;
};

// The one answer to one request. Exactly one of send(), stream() and take_over() is called, once,
// during the handler or any time later. Dropped without answer, the client is sent 500 no_answer.
class Responder {
 public:
  virtual ~Responder() = default;
  // Thread-safe; lowest latency on the loop thread. An answer to a peer that is gone is dropped.
  virtual void send(Response response) = 0;
  // Starts a chunked answer (HTTP/1.0: until close). Loop thread only. Never null; when the peer is
  // gone already the Outflow is closed.
  virtual std::shared_ptr<Outflow> stream(int status, Pairs headers) = 0;
  // False once the peer is known to be gone. Loop thread only.
  virtual bool peer_alive() const = 0;
  // The server forgets the connection, which is the caller's from now on, its answer too. Loop
  // thread only.
  virtual TakenOver take_over() { return {}; }
};

using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

// Made, used and destroyed on the loop thread (or before the loop runs).
class Server {
 public:
  Server(Loop& loop, ServerLimits limits, Handler handler);
  // Drops every connection. Responders and Outflows that remain turn inert.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // `host`: an address or a name of this machine; port 0 takes a free one. May be called again for
  // a further address. Errors: address_in_use, bind_denied, bad_address.
  Result<void> listen(const std::string& host, std::uint16_t port);
  // The port of the first listen().
  std::uint16_t port() const;
  std::size_t connections() const;

  // Stops accepting, closes idle connections and streams, lets requests in progress be answered for
  // at most `grace`, then drops what is left and calls `on_done` (if any), once.
  void shutdown(std::chrono::microseconds grace = std::chrono::seconds(5),
                std::function<void()> on_done = {});

 private:
  std::shared_ptr<ServerState> state_;
};

}  // namespace dove::wire
