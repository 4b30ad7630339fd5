// What executors run for other users where a waiting job would fit.
#pragma once

#include <vector>

#include "core/explain/pool_nodes.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// Adds the foreign allocation that ends first among those which hold what `out` says is missing
// (kResources), on nodes that the job may have; it counts the others. It details, and is no cause.
void add_foreign(const State& state, const Job& job, std::vector<Reason>& out);

// Whether an executor keeps anything anywhere for others later.
bool keeps_for_later(const State& state);
// Adds what begins first of that, on nodes that the job may have, and counts the others. REQUIRES:
// it is a cause.
void add_kept_for_later(const State& state, const PoolNodes& nodes, const Job& job,
                        std::vector<Reason>& out);

}  // namespace dove::core
