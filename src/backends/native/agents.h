// Agents: what the calls of Dovetail's own agents share: their sessions, their reports, and the
// transfers in progress through them. One per NativeBackend, loop thread only.
//
// Include only from .cc files of this part.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backends/backend.h"
#include "backends/native/agent_sessions.h"
#include "backends/native/allowance.h"
#include "backends/native/boards/link_blames.h"
#include "backends/native/boards/progress.h"
#include "backends/native/boards/refusals.h"
#include "backends/native/boards/shares.h"
#include "backends/native/boards/use.h"
#include "backends/native/boards/warnings.h"
#include "backends/native/links/execs.h"
#include "backends/native/links/forwards.h"
#include "backends/native/links/task_links.h"
#include "backends/native/order_lines.h"
#include "backends/native/relays.h"
#include "backends/native/steps/steps.h"
#include "backends/native/sync_pace.h"
#include "listener/desk.h"
#include "listener/log_thread.h"
#include "listener/route.h"

namespace dove::backends {

struct Agents {
  explicit Agents(listener::Desk& desk);

  listener::Desk& desk;
  // The record that was last asked about, and where the log ended then; before `sessions`.
  std::tuple<Epoch, Seq, Seq> proven;
  std::string proof;
  ProgressBoard progress;
  ShareBoard shares;
  UseBoard use;
  LinkBlames blames;
  WarningBoard warnings;
  RefusalBoard refusals;
  Relays relays;
  AgentSessions sessions;
  Steps steps;
  TaskLinks links;
  Execs execs;
  Forwards forwards;
  std::map<NodeId, std::string> sync_tickets;  // the last given to each, until it is used
  std::multiset<NodeId> syncs_in_progress;     // that are not yet durable
  SyncPace sync_pace;
  std::set<std::string> joining;   // digests of join tokens whose use is not yet durable
  listener::LogThread log_thread;  // for claims
  // The log's chain at a record; none where the record is no longer kept.
  using Chain = Result<std::optional<std::string>>;
  using WithChain = std::function<void(const Chain&)>;
  std::map<Seq, Chain> chains;                         // those that claims were about
  std::map<Seq, std::vector<WithChain>> chains_asked;  // calls that wait for one

  const core::State& state() const { return desk.state(); }

  void send_orders(std::vector<Order> orders);
  // Whether the node's agent can carry the order out. One that cannot is not sent it, and the
  // ledger is told.
  bool can_take(const AgentSession& session, const Order& order);
  OrderSources order_sources(listener::Blobs::Found programs);
  // Each record is asked about many times in a row.
  std::string head_proof(Epoch epoch, Seq head);
  // A sync has come: the former session's end must not be reported after the new one's beginning.
  void drop_session(NodeId node);
  // Takes as many events to be written down off what the node may have. When that is used up
  // nothing is taken, and people are told. Error: kConflict too_many_reports. A sync `may_owe`: a
  // node that reports as much as it may is not cut off when its connection breaks.
  std::optional<Error> take_off(const core::Node& node, std::size_t events, bool may_owe);
  // The same of what the node may have read. No agent that is well comes near it.
  std::optional<Error> take_off_read(const core::Node& node, std::size_t kib);
  // Writes down that a node's agent is not there.
  void observe_disconnected(NodeId node, bool silent);
  // Nodes that others are to refuse, as their certificates outlive their expulsion, for a year at
  // most: those that were heard of last, if there are too many; ascending.
  const std::vector<std::string>& expelled_nodes() const { return expelled_; }
  void end_all();
  // See RunningWork.
  void expect_own_end(JobId job);

 private:
  // Cuts off a node that an administrator has just expelled.
  void expelled(const NodeActionRequested& event);
  // Tells all agents whom they are to refuse, if that changed with an expulsion or a joining.
  void tell_expelled();
  std::vector<std::string> find_expelled() const;
  // Looks for jobs that hang, now and then.
  void watch();
  void session_ended(NodeId node, bool silent);
  void send_next();

  Error says_too_much(const core::Node& node, const std::string& limit);

  std::map<NodeId, Allowance> written_;              // in events
  std::map<NodeId, Allowance> read_;                 // in KiB
  std::map<JobId, std::int64_t> ending_themselves_;  // until when, by the steady clock
  std::vector<std::string> expelled_;
  wire::Timer watch_timer_;
  struct Round {
    std::vector<Order> orders;
    std::map<NodeId, std::string> to;  // sessions when it was decided
  };
  std::deque<Round> unsent_;  // the first waits for what its launches run
};

// Digests of what launches among them run.
std::vector<std::string> programs_of(const std::vector<Order>& orders);

// The calls of api/agent-protocol.md.
std::span<const listener::RouteOf<Agents>> agent_routes();

}  // namespace dove::backends
