// AgentSessions: the connections of agents, one per node, and the lines that are sent to them.
//
// A session begins when a sync was answered. It ends when its orders stream closes, when nothing
// was heard for silent_after, or when the agent syncs again. What a session missed is computed from
// the ledger at the next sync, so nothing is kept for a node without one. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/node_offer.h"
#include "core/state/state.h"
#include "listener/projection.h"
#include "protocol/session.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::backends {

struct AgentSession {
  std::string id;
  NodeId node;
  std::string version;                    // of the agent
  std::int64_t agent_pid = 0;             // on its machine; 0: not told
  std::string not_enforced;               // limits of tasks, and why; "": all are
  std::optional<NodeOffer> offer;         // unset: it did not say
  std::shared_ptr<wire::Outflow> orders;  // null until the agent has opened its stream
  std::string unsent;                     // lines until then
  std::int64_t heard_at_us = 0;           // monotonic
  int reports_in_progress = 0;            // the agent waits for us, so it is not silent
  Seq last_order;
  int differing = 0;  // heartbeats in a row whose placements are not the ledger's
  std::vector<protocol::ActivePlacement> kept;  // that a restored log does not know
};

class AgentSessions {
 public:
  // Told when a session ended other than by a newer one.
  using Ended = std::function<void(NodeId, bool silent)>;

  // Proves to us, later, that we told an agent about a record (listener::Identity).
  using Proof = std::function<std::string(Epoch, Seq)>;

  AgentSessions(wire::Loop& loop, const listener::Projection& projection, std::int64_t heartbeat_us,
                Proof proof, Ended ended);

  // Replaces the node's former session.
  AgentSession& begin(NodeId node);
  // nullptr when there is none, or `id` names an older one.
  AgentSession* find(NodeId node, std::string_view id);
  AgentSession* find(NodeId node);
  void open_stream(AgentSession& session, std::shared_ptr<wire::Outflow> orders);
  void heard(AgentSession& session);
  // Sends a line (without '\n'); false when the node has no session.
  bool send(NodeId node, std::string_view line, Seq order = {});
  // A line to all that have a session.
  void send_all(std::string_view line);
  void end(NodeId node, bool silent);
  // Ends it without telling: a newer one is on its way.
  void drop(NodeId node);
  // Without telling: the server stops. Agents hear that nobody will decide until the next one has
  // started, and wait for it for the grace of an outage.
  void end_all();
  std::size_t size() const { return sessions_.size(); }

 private:
  void tick();
  void write(AgentSession& session, std::string_view line);

  wire::Loop& loop_;
  const listener::Projection& projection_;
  std::int64_t heartbeat_us_;
  Proof proof_;
  Ended ended_;
  std::map<NodeId, std::unique_ptr<AgentSession>> sessions_;
  std::uint32_t slot_ = 0;
  wire::Timer timer_;
};

}  // namespace dove::backends
