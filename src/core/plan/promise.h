// Promises in the State: which jobs they bind, when they are due, and whether one was broken.
//
// A promise is a protected start of a waiting job: an instant, and places by id. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/state/state.h"

namespace dove::core {

// Whether `job` comes before `other` whatever was promised to that: by the band or the guarantee of
// its queue, or by its priority within one.
bool comes_before(const State& state, const Job& job, const Job& other);

// The promises that do not bind a job: of jobs that it comes before, by the band or the guarantee
// of its queue, or by its priority within one. To start before them is not backfill. A promise for
// which others were stopped binds everybody: they would have been stopped for nothing.
std::set<JobId> promises_behind(const State& state, const Job& job);

// Whether the two name a core both, or more of a device than there is of it.
bool share_ids(const Placement& a, const Placement& b);

// When the next promise falls due; kNever if none does.
Instant next_promise(const State& state);

// A promise that something started after it stands in the way of. What is declared meanwhile (a
// pool's longest time, reservations) may make what runs stay longer than it was to.
std::optional<std::string> find_broken_promise(const State& state);

}  // namespace dove::core
