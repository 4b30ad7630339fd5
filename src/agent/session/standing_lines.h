// StandingLines: keeps this node connected to the controllers that do not lead.
//
// When a leader ends, the whole cluster asks the next one at the same moment. A handshake costs
// both ends more than all else of that question, so it is made before, in quiet times: at a random
// moment once it is known where agents call there, and again within a minute or so of any break.
// The session that begins there goes on over the same connection.
//
// A question for nothing (GET /healthz) every minute or so keeps it open, as a server closes what
// is idle for two. Only with TLS: without, connecting costs little. Owned by Session. Loop thread
// only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "agent/session/uplink.h"
#include "base/random.h"
#include "wire/loop.h"

namespace dove::agent {

class StandingLines {
 public:
  // `uplink` outlives it. Asks only while `in_session` says so.
  StandingLines(wire::Loop& loop, Uplink& uplink, std::string node,
                std::function<bool()> in_session);

  // There is a session.
  void begin();
  void stop() { timer_.cancel(); }
  // It is known now where agents call there.
  void keep(std::size_t place);

 private:
  void keep_later(std::chrono::microseconds least);
  void keep_all();

  wire::Loop& loop_;
  Uplink& uplink_;
  const std::string node_;
  const std::function<bool()> in_session_;
  Random jitter_;
  wire::Timer timer_;
};

}  // namespace dove::agent
