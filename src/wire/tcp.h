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

// How long a host may take to answer, once its addresses are known.
struct ReachTimes {
  std::chrono::microseconds host{0};  // 0: as long as the whole attempt
  // One that has not answered within this time gives way to the next one, and sooner where the
  // host's time would not be enough for all.
  std::chrono::microseconds address = std::chrono::seconds(1);
};

// Connects to `host`, an address or a name, which is looked up first: `timeout` is for both. All
// its addresses are tried in turn until one has answered: of a machine that starts, the system
// would learn late, as it asks at 1, 3, 7, 15 s.
// Errors: connection_refused, unreachable, host_unknown, connect_timeout.
[[nodiscard]] ConnectAttempt connect_tcp(Loop& loop, const std::string& host, std::uint16_t port,
                                         std::chrono::microseconds timeout,
                                         std::function<void(Result<std::unique_ptr<Stream>>)> done,
                                         ReachTimes reach = {});

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
