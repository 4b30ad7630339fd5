// Why a gang waits though there is enough: what is free lies in too many units of the topology, is
// left over in pieces too small for its tasks, or is where its labels do not allow it.
#pragma once

#include <vector>

#include "core/policy.h"
#include "core/state.h"
#include "core/what_if.h"
#include "model/reason.h"

namespace dove::core {

// The job fits on empty nodes, but not into one unit of the level that it requires: says so, with
// the largest one. False (and nothing said) when that is not why.
bool add_unit_too_small(const WhatIf& empty, const PlacementPolicy& policy, const JobSpec& spec,
                        std::vector<Reason>& out);

// The job has room now, but not in one unit of its level. False when that is not why.
bool add_unit_too_full(const WhatIf& now, const PlacementPolicy& policy, const JobSpec& spec,
                       std::vector<Reason>& out);

// The job has room now, but not where its labels allow it. False when that is not why.
bool add_labels(const State& state, const WhatIf& now, const JobSpec& spec,
                std::vector<Reason>& out);

// As much is free as the job needs, but not on nodes where its tasks have room: how much of it is,
// in which units, and who holds the rest of most of the other nodes. To be asked after the
// shortages are in `out`: it explains one of GPUs, cores or nodes.
void add_fragments(const WhatIf& now, const PlacementPolicy& policy, const JobSpec& spec,
                   std::vector<Reason>& out);

}  // namespace dove::core
