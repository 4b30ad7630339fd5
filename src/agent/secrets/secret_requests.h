// SecretRequests: asks the controller for the values of attempts' secrets, until there is an
// answer, for a minute.
//
// A refusal by the controller is final. A request without an answer is repeated each second, in
// whatever session exists then. Values pass through and are never kept. Owned by Agent. Loop thread
// only.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/secrets/task_secrets.h"
#include "agent/session/uplink.h"
#include "base/result.h"
#include "wire/loop.h"

namespace dove::agent {

class SecretRequests {
 public:
  using Done = std::function<void(Result<std::vector<TaskSecret>>)>;

  // `uplink` outlives it.
  SecretRequests(wire::Loop& loop, Uplink& uplink, std::function<bool()> in_session)
      : loop_(loop),
        uplink_(uplink),
        in_session_(std::move(in_session)),
        line_(loop, uplink, /*http2=*/true) {}

  // Calls `done` once, unless the attempt is not `wanted` any more by then, or was forgotten.
  void ask(AttemptKey key, std::function<bool()> wanted, Done done) {
    ask(key, std::move(wanted), std::move(done), 0);
  }
  void forget(AttemptKey key) { timers_.erase(key); }
  // Asks nothing more.
  void stop() { is_stopped_ = true; }

 private:
  void ask(AttemptKey key, std::function<bool()> wanted, Done done, int tries);

  wire::Loop& loop_;
  Uplink& uplink_;
  const std::function<bool()> in_session_;
  // Beside the session's: reports must not wait for the controller's vault.
  Uplink::OwnLine line_;
  bool is_stopped_ = false;
  std::map<AttemptKey, wire::Timer> timers_;
};

}  // namespace dove::agent
