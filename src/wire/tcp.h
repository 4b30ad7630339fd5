// TCP: making and accepting Streams. For the files of wire/ alone; loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"
#include "wire/stream.h"

namespace dove::wire {

// Dropping the handle abandons the attempt: the callback is not called.
using ConnectAttempt = std::shared_ptr<void>;

// Connects to `host`, an address or a name. Errors: connection_refused, unreachable,
// host_unknown, connect_timeout.
[[nodiscard]] ConnectAttempt connect_tcp(Loop& loop, const std::string& host, std::uint16_t port,
                                         std::chrono::microseconds timeout,
                                         std::function<void(Result<std::unique_ptr<Stream>>)> done);

// A listening socket; dropping it stops listening.
class TcpListener {
 public:
  virtual ~TcpListener() = default;
  virtual std::uint16_t port() const = 0;
};

// Calls `on_accept` for each connection. When the system is out of descriptors it waits a moment
// and goes on. Errors: address_in_use, bind_denied, bad_address.
Result<std::unique_ptr<TcpListener>> listen_tcp(
    Loop& loop, const std::string& host, std::uint16_t port,
    std::function<void(std::unique_ptr<Stream>)> on_accept);

}  // namespace dove::wire
