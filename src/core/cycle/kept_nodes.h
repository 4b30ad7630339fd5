// KeptNodes: the nodes that are kept free for a gang that has waited too long.
//
// A gang starts only when everything it needs is free at the same instant. If smaller jobs may pass
// it and their run times are unknown, that instant may never come: each gap is filled at once, and
// no start can be promised. Nodes are therefore kept for a job of several GPUs once it has waited
// for kWaits_too_long in a queue whose order learns. One job of each pool is served at a time, the
// longest waiting first. It gets the nodes with the most room, then those whose oldest job started
// last: run times have heavy tails, so a job that started long ago is likely to stay, and one that
// has just started is likely to end soon. On these nodes only three kinds of jobs start: the gang
// itself, promised ones, and those that precede the gang regardless of promises
// (core/plan/promise.h).
//
// At most a quarter of a pool's nodes are kept. A gang nearly as large as its pool can therefore
// not idle it while waiting for jobs that never end; such a gang needs a reservation.
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
