// Responder and Outflow: the ways to answer a request; and Handler, which is given a Responder.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wire/http.h"

namespace dove::wire {

class Backlog;
class Stream;

// A connection that a request asked to leave HTTP on (wire/web_socket.h).
struct TakenOver {
  TakenOver();
  ~TakenOver();
  TakenOver(TakenOver&&) noexcept;
  std::unique_ptr<Stream> stream;  // nullptr: the peer is gone, or this is no connection of its own
  std::string early;               // what the peer has sent behind its request
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
  // Ends the connection, or its stream, before the end of the answer: whoever reads it can tell
  // that it is not whole. Later writes return false.
  virtual void cut() = 0;
  // `fn` is called once, in a later turn, when the stream ended without close() or cut():
  // peer gone, overflow, server shut down. Replaces the former `fn`; called too when the end came
  // before on_closed().
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
  // Starts a chunked answer (HTTP/1.0: until close, and what breaks off is reset). Loop thread
  // only. Never null; when the peer is gone already the Outflow is closed.
  virtual std::shared_ptr<Outflow> stream(int status, Pairs headers) = 0;
  // False once the peer is known to be gone, or to end its side: it waits for no answer. Loop
  // thread only.
  virtual bool peer_alive() const = 0;
  // From now on the answer counts there while any of it waits for its peer. Where that is full, an
  // answer to a GET is 429 rate_limited in its place, and a stream that is written to ends as one
  // whose buffer overflows. Loop thread only.
  virtual void counts_at(std::shared_ptr<Backlog>) {}
  // The server forgets the connection, which is the caller's from now on, its answer too. Loop
  // thread only.
  virtual TakenOver take_over() { return {}; }
};

using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

}  // namespace dove::wire
