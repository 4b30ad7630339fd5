// Backfill: the first blocked jobs of each queue are promised a start, and nothing is started that
// would still hold at that instant what the promise names (conservative backfill, protecting a
// bounded number of jobs: Mu'alem and Feitelson, TPDS 2001, with ids instead of counts).
//
// A promise stands until its job is launched, or cannot be: it only ever moves to an earlier
// instant on the same places. It binds what comes after its job in the order. It is withdrawn when
// a node of it is lost or drained, a reservation was declared over it, the job may no longer start
// for other reasons, a job that comes before it takes its place, or a promise for an earlier
// instant needs the place because it came late or was made by kPreempt; then it is planned anew in
// its turn.
//
// The pass kPromise (core/cycle/passes.h) makes them: each queue's first blocked jobs get promises,
// as many as it is declared to have. A job without an end in sight for what it needs gets none; it
// is passed over.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/cycle/passes.h"

namespace dove::core {

// Withdraws what cannot be kept any more, and moves forward what can be kept earlier. A step of
// kPlace, before anything is launched.
void keep_promises(Cycle& cycle);

// Launches the first of the class's promised jobs that has a place now: the one that was promised,
// or another. Called in the class's turn, before its other jobs are tried. True if one was.
bool launch_promised(Cycle& cycle, std::uint64_t equivalence_class);

// Withdraws those of `ignored` that cannot be kept once the job has these places.
void withdraw_behind(Cycle& cycle, const Job& job, const std::vector<Placement>& places,
                     const std::set<JobId>& ignored);

}  // namespace dove::core
