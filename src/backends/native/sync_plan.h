// SyncPlan: what an agent holds, compared with the ledger (api/agent-protocol.md, sync).
//
// Pure.
#pragma once

#include <vector>

#include "core/state/state.h"
#include "model/event.h"
#include "protocol/session.h"

namespace dove::backends {

using protocol::AttemptKey;

// As the log can hold it at the cluster's level (model/level.h): what it cannot would be news each
// time.
Inventory as_kept(const core::State& state, Inventory inventory);

// What the node becomes by it: also when nothing but this changes.
NodeRegistered registration(const core::Node& node, const protocol::Machine& machine);

// Registers the node anew, if that is another inventory than the ledger's.
void add_inventory(const core::State& state, const core::Node& node, const Inventory& said,
                   std::vector<Event>& events);

// The events that bring the ledger up to what the agent tells. `proven`: it shows that this
// cluster's controller told it what it has seen, so that what it holds is this cluster's.
std::vector<Event> sync_events(const core::State& state, const core::Node& node,
                               const protocol::Sync& message, bool proven);

// How long from now the controller counts on the node's tasks though it does not hear of them, as
// it has just started and awaits that very boot of it; the fence comes after that. 0: it does not
// say.
Span waits_for(const core::State& state, const core::Node& node, const protocol::Machine& machine,
               Instant now);

// What the agent holds and the ledger does not want: once the events are folded.
struct Leftovers {
  std::vector<AttemptKey> stop;
  std::vector<AttemptKey> forget;
  std::vector<protocol::ActivePlacement> kept;  // that a restored log does not know; not stopped
};
Leftovers leftovers(const core::State& state, NodeId node, const protocol::Sync& message);

// The placement of an attempt on a node; nullptr when there is none that is an agent's: what an
// executor runs is its own.
const core::PlacementRecord* find_placement(const core::State& state, JobId job,
                                            AttemptNumber attempt, NodeId node);

// As an agent computes it over what it holds; `kept`: beyond what the ledger knows.
std::uint64_t placements_hash(const core::State& state, const core::Node& node,
                              const std::vector<protocol::ActivePlacement>& kept);

}  // namespace dove::backends
