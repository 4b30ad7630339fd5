// Context: what the handlers of the API's requests share. One per server, loop thread only.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "backends/node_backend.h"
#include "listener/desk.h"
#include "notices/office.h"
#include "server/activity.h"
#include "server/executors/executor_syncs.h"
#include "server/executors/output_reads.h"
#include "server/idle/session_apps.h"
#include "server/lists/pieces.h"
#include "server/secrets/vault.h"
#include "server/sessions/entry_codes.h"
#include "server/sign_in/ways_in.h"
#include "server/ssh/ssh_entries.h"
#include "server/standing/controllers.h"
#include "server/streams/event_feed.h"
#include "server/streams/job_waits.h"
#include "server/streams/list_watches.h"
#include "server/turns.h"
#include "text/session_origins.h"
#include "views/cluster_totals.h"

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
  ListWatches lists;
  ExecutorSyncs syncs;
  WaysIn ways;
  notices::Office& office;
  Vault vault;
  SshEntries ssh = {};
  Pieces pieces{desk.loop};
  OutputReads outputs{desk};
  SessionApps session_apps{desk.blobs};
  Turns declaring = {};            // of calls that change declared objects
  bool is_token_replaced = false;  // while the record of the administrator's new token is committed
  std::uint64_t routed = 0;        // submissions so far: the turn of the next (executors/routes.h)
  Activity activity = {};
  views::ClusterTotals totals = {};
  EntryCodes entry_codes = {};
  std::optional<text::SessionOrigins> origins = {};  // none: there is no proxy
  std::string sessions_url = {};                     // from which `origins` was read
  ControllerPeers controllers = {};
  // Where this controller stands by: the answer to what only the one that leads knows, with whom to
  // ask. Unset: it leads.
  std::function<Error()> elsewhere = {};
  std::uint16_t agents_port = 0;  // where agents call; 0: there is no TLS

  const core::State& state() const { return desk.state(); }
};

}  // namespace dove::server
