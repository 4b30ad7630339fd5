// Context: what the handlers of the API's requests share. One per server, loop thread only.
//
// Include only from .cc files of this part.
#pragma once

#include <string>

#include "backends/node_backend.h"
#include "listener/desk.h"
#include "server/activity.h"
#include "server/event_feed.h"
#include "server/executors/executor_syncs.h"
#include "server/job_waits.h"
#include "server/sign_in/ways_in.h"
#include "server/turns.h"

namespace dove::server {

using listener::Call;
using listener::Caller;
using listener::CallPtr;
using listener::invalid;
using listener::not_found;

struct Context {
  listener::Desk& desk;
  backends::NodeAccess nodes;
  std::string version;
  EventFeed feed;
  JobWaits waits;
  ExecutorSyncs syncs;
  WaysIn ways;
  Turns declaring = {};  // of calls that change declared objects
  Activity activity = {};

  const core::State& state() const { return desk.state(); }
};

}  // namespace dove::server
