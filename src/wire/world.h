// World: what a Loop waits on and talks to when time and messages are not this machine's but
// controlled by a test or a simulation.
//
// A Loop made on a World has its time and its calls; AsyncClients and Servers on that Loop exchange
// whole messages through it, and no socket is opened. One thread. A World outlives its Loops.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/http.h"
#include "wire/incoming.h"
#include "wire/responder.h"

namespace dove::wire {

// In place of an AsyncClient's connections, with the contract of AsyncClient's members.
class ClientLine {
 public:
  virtual ~ClientLine() = default;
  virtual void call(Request request, std::function<void(Result<Response>)> done,
                    std::chrono::microseconds timeout) = 0;
  virtual std::unique_ptr<InStream> open_stream(Request request, StreamCallbacks callbacks) = 0;
  // For worlds in which connecting takes time.
  virtual void connect_within(std::chrono::microseconds) {}
  virtual std::size_t pending() const = 0;
};

// In place of a Server's sockets; dropping it stops listening and drops every connection.
class Listening {
 public:
  virtual ~Listening() = default;
  virtual std::uint16_t port() const = 0;
};

class World {
 public:
  virtual ~World() = default;
  // Microseconds, never decreasing: what telemetry::monotonic_us() is elsewhere.
  virtual std::int64_t monotonic_us() const = 0;
  // Calls `fn` in a later turn, `delay` from now; those of one instant in the order of the calls.
  virtual void after(std::chrono::microseconds delay, std::function<void()> fn) = 0;
  virtual std::unique_ptr<ClientLine> line(const std::string& host, std::uint16_t port,
                                           const AsyncClientOptions& options) = 0;
  // Requests come with all members set (wire/http.h).
  virtual std::unique_ptr<Listening> listen(std::uint16_t port, Handler handler) = 0;
};

}  // namespace dove::wire
