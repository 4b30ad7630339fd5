// Stream is the interface between HTTP and the transport: plain TCP (tcp.cc), or TLS over it
// (tls/).
//
// For the files of wire/, and for users of streams/stream_listener.h. Loop thread only. One read
// and one write may be pending at a time; their callbacks come in a later turn. Dropping the Stream
// closes it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace dove::wire {

class Stream {
 public:
  // `error` is 0, kEnded, kRefused or an errno (ECANCELED after close()).
  using Done = std::function<void(int error, std::size_t bytes)>;
  static constexpr int kEnded = -1;
  // The server, whose certificate is believed, takes the one of this end no more. That it has
  // merely ended, or that its authority is not known there, is another error.
  static constexpr int kRefused = -2;

  virtual ~Stream() = default;
  // `data` stays valid until `done` is called. At least one byte, or an error.
  virtual void read_some(char* data, std::size_t size, Done done) = 0;
  virtual void write_some(std::string_view data, Done done) = 0;
  // Tells the peer that no more will come; reading goes on.
  virtual void end_writing() = 0;
  // Pending operations end with ECANCELED.
  virtual void close() = 0;
  // As close(), but the peer sees an error and no end in order, where the transport can tell.
  virtual void reset() { close(); }
  // Nothing more will come of the peer than is there to be read already.
  virtual bool peer_ended() { return false; }
  // "127.0.0.1:40122"
  virtual std::string peer_address() const = 0;
  // The URI of the certificate that the peer has proved to be its own; "" when it showed none.
  virtual std::string peer_identity() const { return {}; }
  // Both ends have agreed on HTTP/2 (ALPN).
  virtual bool speaks_http2() const { return false; }
};

}  // namespace dove::wire
