// Backfill: the first blocked jobs of each queue are promised a start, and no job starts that would
// still hold the promised resources at that instant. This is conservative backfill that protects a
// bounded number of jobs (Mu'alem and Feitelson, TPDS 2001), with ids instead of counts.
//
// A promise stands until its job is launched or can no longer start. It only ever moves to an
// earlier instant on the same places, and it binds the jobs that follow its job in the order. It is
// withdrawn when one of its nodes is lost or drained; when a reservation is declared over it; when
// its job may no longer start for another reason; when an earlier job takes its place; or when a
// promise for an earlier instant, made late or by kPreempt, needs the place. The job is then
// planned again when it is next.
//
// The pass kPromise (core/cycle/passes.h) makes the promises: the first blocked jobs of each queue
// get them, up to the number declared for the queue. A job whose resources have no foreseeable end
// of use gets none and is passed over.
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
