// Maintenance: the next action for a node that is due for a test, a repair or a return to
// production, and which nodes the votes on links make suspect.
//
// Pure. It is asked by the pass that maintains nodes, by wake_at, and by the views of nodes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/state/state.h"

namespace dove::core {

// An agent that was told to test or to repair its node answers within this time.
constexpr Span kMaintenance_deadline = seconds(3600);

// The number of other nodes that must have failed to reach the node before it is blamed.
constexpr std::size_t kVotes = 2;

// Whether the pass that maintains nodes has to look at it.
bool wants_maintenance(const Node& node);

// When the job must be told to end, so that the node is free when somebody wants it; kNever: it may
// end by itself.
Instant stop_due_at(const State& state, const Node& node, const Job& job);

// The next instant at which time alone changes something for the node's life.
Instant maintenance_wake(const State& state, const Node& node);

// Why the votes on links make the node suspect. A unit of the topology of which several nodes are
// not reached from outside, and only from outside, is blamed in their place: then nothing.
std::optional<std::string> blame(const State& state, const Node& node);
// The unit that is blamed instead of the node; nothing: none is.
std::optional<TopologyUnit> blamed_unit(const State& state, const Node& node);

}  // namespace dove::core
