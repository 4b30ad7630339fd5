// KeptNodes: the nodes that are kept for a gang that has waited too long.
//
// A gang starts only when all that it needs is free at one instant. Where smaller jobs may pass it
// and nobody says how long they run, that instant may never come: each hole is filled at once, and
// no start can be promised. So once a job of several GPUs has waited for kWaits_too_long in a queue
// whose order learns, nodes are kept for it, the longest waiting one of a pool's at a time: those
// with the most room first, and of the others those whose oldest job started last. Run times have
// heavy tails: what started long ago is likely to stay for long, what started just now is likely to
// be gone soon. Nothing is started on them but the job itself, what is promised, and what comes
// before the job whatever was promised (core/plan/promise.h).
//
// At most a quarter of a pool's nodes are kept, so that a gang nearly as large as its pool cannot
// idle it while it waits for jobs that never end; such a gang needs a reservation.
//
// A function of the State alone: it is computed when kPlace begins, and nothing of it is logged.
#pragma once

#include <vector>

#include "core/cycle/indexes.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

constexpr Span kWaits_too_long = seconds(48 * 3600);

// By job. REQUIRES: the indexes are those of the state, as it is now.
KeptNodes kept_nodes(const State& state, const Indexes& indexes, const PlacementPolicy& policy);

// Whether a job has waited that long; without one no node is kept. A look at the oldest jobs.
bool may_keep_nodes(const State& state);

// The same of a state that nobody follows. Copies the state if a job has waited that long.
KeptNodes kept_nodes(const State& state, const Policies& policies);

// Those that a job must leave alone; ascending, empty most of the time.
std::vector<NodeId> nodes_kept_from(const State& state, const KeptNodes& kept, const Job& job);

}  // namespace dove::core
