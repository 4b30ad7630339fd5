// Contact: when a silent node counts as lost, and which agent may speak for it (invariant 5).
//
// Pure. It is asked before events are admitted, by the pass that expires nodes, and by the views of
// nodes.
#pragma once

#include "core/state/state.h"

namespace dove::core {

// Beyond the fence itself: a lease is renewed and read by clocks of two machines, by timers that
// may be late. What was declared lost must have been ended by its shim before.
constexpr Span kFence_margin = seconds(1);

// When the node counts as lost unless it is heard of; kNever when it is connected, lost or removed.
// An agent that knows of an outage renews for its grace, so a controller that has just started
// waits that long for nodes that it has not heard of.
Instant lost_at(const State& state, const Node& node);

// What somebody is who comes under a node's name.
enum class Comer {
  kItself,    // the same boot of the same machine; or nothing can run of what the node was before
  kRebooted,  // the machine proves that it was booted anew: nothing of its former life runs
  kStranger,  // it may be another machine, while the node's tasks run where they were
};
Comer comer(const Node& node, const NodeRegistered& event);

}  // namespace dove::core
