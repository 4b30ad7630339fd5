// PortScout: learns where agents call at the controllers that do not lead, while there is time.
//
// A node knows that of a controller that has certified it. Were the others asked once one of them
// leads, it would have to certify the whole cluster before it could tell anybody that it counts on
// its tasks. So each is asked (GET /healthz at people's port), at a random moment of the session's
// first half minute, and again as long as it does not say.
//
// One that does not run is asked every half minute. One that answers makes a handshake for each
// question of each node: it is asked less and less often, every ten minutes at last. The first
// pause is half a minute where it says that its port is shut, as a standby that has just started
// does, and longer where it says nothing, as one of a former version does. Owned by Session. Loop
// thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/session/uplink.h"
#include "base/random.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::agent {

class PortScout {
 public:
  // `uplink` outlives it. Asks only while `in_session` says so; `known` hears of each place that
  // has said it.
  PortScout(wire::Loop& loop, Uplink& uplink, std::string node, std::function<bool()> in_session,
            std::function<void(std::size_t place)> known);

  // There is a session.
  void begin();
  void stop() { timer_.cancel(), client_.reset(); }

 private:
  struct Wait {
    std::chrono::seconds pause{0};  // the last one; 0: it did not answer
    std::int64_t until_us = 0;      // monotonic
  };
  std::chrono::microseconds up_to(std::chrono::microseconds most);  // at random
  void look(std::size_t from);
  void look_later();
  void told(std::size_t place, const Result<wire::Response>& answer);

  wire::Loop& loop_;
  Uplink& uplink_;
  const std::string node_;
  const std::function<bool()> in_session_;
  const std::function<void(std::size_t place)> known_;
  Random jitter_;
  std::unique_ptr<wire::AsyncClient> client_;  // of the one that is asked
  std::map<std::size_t, Wait> waits_;          // before a place is asked again
  wire::Timer timer_;
};

}  // namespace dove::agent
