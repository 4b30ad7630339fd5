// NodeCertificate: has the controller certify this node, before the process's first session and
// again after two thirds of the certificate's life.
//
// A renewal does not change the current session, only connections made from then on. Without TLS
// nobody asks. Owned by Session. Loop thread only.
#pragma once

#include <functional>
#include <string>

#include "agent/session/uplink.h"
#include "base/random.h"
#include "base/result.h"
#include "wire/loop.h"

namespace dove::agent {

class NodeCertificate {
 public:
  // The code of the error when the controller lives but can write nothing.
  static constexpr const char kFull[] = "disk_full";

  struct Host {
    std::function<bool()> in_session;  // a renewal waits for one
    std::function<void()> taken;       // there is a certificate, or a newer one
  };

  // `uplink` outlives it.
  NodeCertificate(wire::Loop& loop, Uplink& uplink, std::string node, Host host);

  // Shows the node's token, not its former certificate, which a node that was off for weeks has
  // outlived. Also sets off the renewals to come.
  void ask(std::function<void(Result<void>)> done);
  // The Uplink gave up its calls: what was asked is asked again when it is time.
  void give_up();
  // Hears no answer any more.
  void stop() { is_stopped_ = true; }

 private:
  void renew_later();

  wire::Loop& loop_;
  Uplink& uplink_;
  const std::string node_;
  const Host host_;
  Random jitter_;
  bool is_stopped_ = false;
  wire::Timer timer_;
};

}  // namespace dove::agent
