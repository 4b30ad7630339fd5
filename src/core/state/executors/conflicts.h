// Devices that an executor and somebody else hold at the same time: the world disagrees (invariant
// 6).
#pragma once

#include "core/state/state.h"

namespace dove::core {

// Brings the findings of the node in step with what is held there: one for each device that two
// hold, which names both. It is no fault of the node's. Whether any has changed.
bool settle_conflicts(State& state, Node& node);

}  // namespace dove::core
