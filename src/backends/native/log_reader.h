// LogReader: a task's output on its way from its node to one reader (GET /v1/jobs/{id}/logs).
//
// Bytes are passed on as they come. With `tail` the last lines of the existing output come first:
// the output is read once to find them, then followed from there if requested. Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "backends/native/agent_sessions.h"
#include "backends/native/relays.h"
#include "backends/node_backend.h"
#include "listener/call.h"
#include "listener/open_access.h"

namespace dove::backends {

// Answers `call` with the stream. REQUIRES: the node has a session.
void stream_log(CallPtr call, const LogRequest& request, Relays& relays, AgentSessions& sessions,
                listener::OpenAccess& access);

}  // namespace dove::backends
