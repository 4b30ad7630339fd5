// LogReader: a task's output on its way from its node to one reader (GET /v1/jobs/{id}/logs).
//
// Bytes are passed on as they come. With `tail` the last lines of what there is come first: the
// output is read once to find them, then followed from there if asked to. Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "server/agent_sessions.h"
#include "server/call.h"
#include "server/relays.h"

namespace dove::server {

struct LogRequest {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  Rank rank = 0;
  bool is_stderr = false;
  bool follow = false;
  std::int64_t offset = 0;
  std::int64_t tail_lines = -1;  // -1: everything
};

// Answers `call` with the stream. REQUIRES: the node has a session.
void stream_log(CallPtr call, const LogRequest& request, Relays& relays, AgentSessions& sessions);

}  // namespace dove::server
