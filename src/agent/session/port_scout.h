// PortScout: learns where agents call at the controllers that do not lead, while there is time.
//
// A node knows that of a controller that has certified it. Were the others asked once one of them
// leads, it would have to certify the whole cluster before it could tell anybody that it counts on
// its tasks. So each is asked (GET /healthz at people's port), at a random moment of the session's
// first half minute, and again as long as it does not say: every half minute one that does not run,
// less often one that answers, as it is of a former version. Owned by Session. Loop thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "agent/session/uplink.h"
#include "base/random.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::agent {

class PortScout {
 public:
  // `uplink` outlives it. Asks only while `in_session` says so.
  PortScout(wire::Loop& loop, Uplink& uplink, std::string node, std::function<bool()> in_session);

  // There is a session.
  void begin();
  void stop() { timer_.cancel(), client_.reset(); }

 private:
  void look_later(std::chrono::microseconds least, std::chrono::microseconds most);
  void look(std::size_t place);
  void told(std::size_t place, const Result<wire::Response>& answer);

  wire::Loop& loop_;
  Uplink& uplink_;
  const std::string node_;
  const std::function<bool()> in_session_;
  Random jitter_;
  std::unique_ptr<wire::AsyncClient> client_;  // of the one that is asked
  bool says_nothing_ = false;                  // one that was asked lately, and answered
  wire::Timer timer_;
};

}  // namespace dove::agent
