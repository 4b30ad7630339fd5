// Handshakes: those of TLS that a server has in progress: in all, and of each network.
//
// Whoever does not finish one is never a connection. Where all are in progress, the oldest peer
// that has said nothing for a while makes room for the newcomer.
//
// A few are worked on at a time: were thousands begun together, as when a whole cluster comes back,
// all would end late, and their peers would have given up. The others wait in line, once they have
// said something, as they came; but a network with many in progress waits behind those with fewer.
// A peer that is slow to go on keeps its handshake, and holds up nobody. Loop thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "wire/loop.h"
#include "wire/stream.h"

namespace dove::wire {

class Tls;

struct HandshakeLimits {
  std::size_t most = 2000;  // beyond it connections are closed
  std::size_t most_of_network = 250;
  std::chrono::microseconds hello_time = std::chrono::milliseconds(100);
  std::chrono::microseconds timeout = std::chrono::seconds(10);
  std::size_t at_a_time = 128;
  std::chrono::microseconds slow_after = std::chrono::milliseconds(250);
};

// With this process, as its metrics have it. Any thread.
std::int64_t handshakes_failed();

class Handshakes {
 public:
  Handshakes(Loop& loop, HandshakeLimits limits);
  ~Handshakes();
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // `done` gets the encrypted stream, if it comes to that.
  void begin(std::unique_ptr<Stream> plain, std::shared_ptr<const Tls> tls,
             std::function<void(std::unique_ptr<Stream>)> done);
  // Those in progress come to nothing.
  void abandon();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dove::wire
