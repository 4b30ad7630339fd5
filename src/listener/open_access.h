// OpenAccess: the callers of requests that stay open: streams of events, commands in tasks, ports
// of tasks, followed logs.
//
// A key that is revoked or has ended, a user who is disabled or deleted, and a role that was taken
// away count at once: each record about people makes all of these looked at anew. Loop thread only.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "accounts/caller.h"
#include "core/state/state.h"
#include "store/log_store.h"

namespace dove::listener {

class OpenAccess {
 public:
  struct Held {
    accounts::Caller caller;     // as of now
    std::function<void()> over;  // called once, when the caller may not call any more
  };
  // Held until the last copy goes; `over` may let it go.
  std::shared_ptr<const Held> hold(accounts::Caller caller, std::function<void()> over);

  // To be called with each batch that was folded into `state`.
  void committed(const core::State& state, const store::Batch& batch, Instant now);
  // And every few seconds, for keys that end by themselves.
  void time_passed(const core::State& state, Instant now) { look(state, now, false); }

 private:
  void look(const core::State& state, Instant now, bool at_roles);

  std::list<std::weak_ptr<Held>> held_;
};

}  // namespace dove::listener
