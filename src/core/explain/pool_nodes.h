// PoolNodes: the nodes of a pool, found and ranked once for all that an explanation asks about
// them.
#pragma once

#include <vector>

#include "core/place/domain.h"
#include "core/place/reservation.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

// Without the removed ones, and those of which nothing is known.
struct PoolNodes {
  std::vector<NodeId> ids;           // ascending
  ById<NodeId, bool> are_available;  // of all nodes of the state
  // All of them, ascending by the policy's rank of what they have free now.
  std::vector<NodeEntry> ranked;
  // By node of the state; empty when nothing is reserved.
  ById<NodeId, std::vector<Window>> windows;
};

PoolNodes nodes_of(const State& state, const PlacementPolicy& policy, const Pool& pool);

}  // namespace dove::core
