// The windows of reservations on every node, for readers that need all of them. Pure.
#pragma once

#include <vector>

#include "core/place/reservation.h"
#include "core/state/state.h"

namespace dove::core {

// What windows_of says of each node; empty when nothing is reserved. Writing out the names in
// reservations and looking each node up costs as much as both are long; comparing each node with
// each list costs their product.
ById<NodeId, std::vector<Window>> windows_by_node(const State& state);

}  // namespace dove::core
