// PoolNodes: the nodes of a pool, which of them are available, and their reservations.
#pragma once

#include <vector>

#include "core/place/reservation.h"
#include "core/state/state.h"

namespace dove::core {

// Without the removed nodes, and those of which nothing is known.
struct PoolNodes {
  std::vector<NodeId> ids;           // ascending
  ById<NodeId, bool> are_members;    // of all nodes of the state; so are the next
  ById<NodeId, bool> are_available;  // members alone
  std::size_t available = 0;         // how many of them are
  // Empty when nothing is reserved.
  ById<NodeId, std::vector<Window>> windows;
};

PoolNodes nodes_of(const State& state, const Pool& pool);

// The node has changed. REQUIRES: it was there when nodes_of was called.
void update(PoolNodes& nodes, const Pool& pool, const Node& node);

}  // namespace dove::core
