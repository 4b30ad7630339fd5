// Context: what the handlers of requests share. One per server, loop thread only.
//
// Include only from .cc files of this part.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "backends/native/order_text.h"
#include "controller/controller.h"
#include "server/agent_sessions.h"
#include "server/blobs.h"
#include "server/event_feed.h"
#include "server/execs.h"
#include "server/identity.h"
#include "server/progress.h"
#include "server/projection.h"
#include "server/relays.h"
#include "server/server.h"
#include "server/shares.h"
#include "server/steps.h"
#include "server/warnings.h"
#include "store/log_store.h"
#include "wire/loop.h"

namespace dove::server {

struct Context {
  Context(wire::Loop& loop, ApiOptions options, controller::Controller& controller,
          store::LogStore& log, Identity identity);

  wire::Loop& loop;
  ApiOptions options;
  controller::Controller& controller;
  Identity identity;
  Projection projection;
  ProgressBoard progress;
  ShareBoard shares;
  WarningBoard warnings;
  Blobs blobs;
  EventFeed feed;
  Relays relays;
  AgentSessions sessions;
  Steps steps;
  Execs execs;
  std::map<NodeId, std::string> sync_tickets;  // the last given to each, until it is used
  std::set<std::string> joining;  // digests of join tokens whose use is not yet durable
  bool stopping = false;

  const core::State& state() const { return projection.state(); }
  std::int64_t now_us() const;

  // Submits and comes back on the loop, once everything was folded into the projection.
  void submit(controller::Input input, std::function<void(Result<controller::Committed>)> done);
  // One event of a person's request.
  void submit(const Call& call, Event event,
              std::function<void(Result<controller::Committed>)> done);
  void take_batch(std::shared_ptr<const controller::CommittedBatch> batch);
  // From now on jobs that hang are looked for and told to the ledger, and idle time is counted.
  void watch();
  void send_orders(const std::vector<backends::Order>& orders);
  backends::OrderSources order_sources();
  // A sync has come: the former session's end must not be told after the new one's beginning.
  void drop_session(NodeId node);
  // Tells the ledger that a node's agent is not there.
  void tell_disconnected(NodeId node, bool silent);
  // This log must not go on: work is refused and the program told to end.
  void give_up(const Error& why);

  // Writes down what a restart could not know: what was counted of GPU time.
  void keep_yield();

 private:
  wire::Timer watch_timer_;
  std::int64_t yield_kept_us_ = 0;

  std::string yield_path() const { return options.data_dir + "/yield.json"; }
  void restore_yield();

  void session_ended(NodeId node, bool silent);
};

}  // namespace dove::server
