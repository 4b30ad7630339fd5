// Handshakes: the TLS handshakes that a server has in progress, in all and from each network.
//
// A peer that does not finish its handshake never becomes a connection. When the limit is reached,
// the oldest peer that has been silent for a while makes room for the newcomer: one of the network
// with the most silent peers, so that no network alone takes the places of others. Silent peers
// have a lower limit of their own: a cluster that returns says its hellos at once, and each silent
// peer costs memory for nothing.
//
// A few are worked on at a time. If thousands were begun together, as when a whole cluster returns,
// all would finish late, and their peers would have given up. The others wait in a queue once they
// have sent something: each network's in the order of their arrival, and the networks in turn, so
// that one with many waits behind those with fewer.
//
// A slow peer keeps its handshake and blocks nobody. Slow is one that has said nothing for a while
// although the loop has looked several times. If the time alone counted, a server that lacks CPU
// would take all of its peers for slow, begin ever more handshakes and finish none in time. Loop
// thread only.
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
  // Peers without a hello: beyond it one that has been silent for hello_time ends.
  std::size_t most_silent = 2000;
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
