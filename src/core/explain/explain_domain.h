// Why a gang waits although enough is free: the free resources lie in too many units of the
// topology, are left in pieces too small for its tasks, or are on nodes that its labels do not
// allow.
#pragma once

#include <vector>

#include "core/explain/what_if.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// No unit of the level that the job requires has room: of the nodes as they are, or (never) empty
// ones. With the best units.
Reason no_unit(bool never, WhatIf& nodes, const PlacementPolicy& policy, const JobSpec& spec);

// The nodes that the job's labels allow.
Reason labels_refuse(const State& state, const WhatIf& now, NodeChoice& choice);

// As much is free as the job needs, but not on nodes where its tasks have room: how much of it is,
// in which units, and who holds the rest of most of the other nodes. To be asked after the
// shortages are in `out`: it explains one of GPUs, cores or nodes.
void add_fragments(WhatIf& now, const PlacementPolicy& policy, const JobSpec& spec,
                   std::vector<Reason>& out);

}  // namespace dove::core
