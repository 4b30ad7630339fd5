// StreamListener: connections as bytes, over TCP or TLS, for a user that handles HTTP itself: the
// proxy, which passes bodies on as they come.
//
// Loop thread only. Handshakes are limited as at a Server's port (handshakes.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/stream.h"
#include "wire/streams/handshakes.h"

namespace dove::wire {

class TcpListener;
class Tls;

class StreamListener {
 public:
  using OnStream = std::function<void(std::unique_ptr<Stream>, std::uint16_t port)>;

  StreamListener(Loop& loop, OnStream on_stream, HandshakeLimits limits = {});
  ~StreamListener();
  StreamListener(const StreamListener&) = delete;
  StreamListener& operator=(const StreamListener&) = delete;

  // Port 0 takes a free one; the port. May be called again for a further address. Errors:
  // address_in_use, bind_denied, bad_address.
  Result<std::uint16_t> listen(const std::string& host, std::uint16_t port,
                               std::shared_ptr<const Tls> tls = nullptr);

 private:
  struct Shared;
  Loop& loop_;
  std::shared_ptr<Shared> shared_;
  std::vector<std::unique_ptr<TcpListener>> listeners_;
};

}  // namespace dove::wire
