// Reservations: who may use which nodes from when to when, and the instants that follow from it:
// until when an attempt can hold its places, and by when it has to be stopped.
//
// A reservation lets in the users and projects that it lists; one that lists nobody lets in the
// jobs that name it, and an outage lets in nobody. A job that names a reservation runs inside it
// only: on its nodes, between its instants. Others are started on its nodes only if they are gone
// when it starts.
#pragma once

#include <vector>

#include "base/result.h"
#include "core/state.h"
#include "model/reason.h"

namespace dove::core {

// A reservation as one node sees it.
struct Window {
  Instant from;
  Instant to;
  const Reservation* of = nullptr;  // in the state; valid while nothing is declared
};

bool admits(const Reservation& reservation, const JobSpec& spec);

// The reservation that the job names; null without one, or when there is no such reservation.
const Reservation* reservation_of(const State& state, const JobSpec& spec);

// Reservations that are not over, as the node sees them.
std::vector<Window> windows_of(const State& state, const Node& node);

// When the next reservation begins or ends; kNever if none does.
Instant next_boundary(const State& state);

// How long places are held: at most `longest` from the launch on, and not beyond `over_by`. Sums
// what each stage of an attempt may take, so nothing well-behaved holds a place for longer.
struct Stay {
  Span longest;
  Instant over_by;
  Instant end(Instant launch) const;
};
Stay stay_of(const State& state, const JobSpec& spec);

// When what the active job holds is free again, by the same sums; kNever without any limit.
Instant held_until(const State& state, const Job& job);

// Its deadline and the end of its reservation: stopped then, whatever its time limit. kNever: none.
Instant latest_end(const State& state, const JobSpec& spec);

// Started later than this it could not end by its deadline; kNever without a deadline.
Instant latest_start(const State& state, const JobSpec& spec);

// When the active job has to be stopped so that an outage finds its nodes empty; kNever: not.
Instant outage_stop_at(const State& state, const Job& job);

// Whether a job launched now on a node has to be gone before the window; a preemptible job may
// start before an outage that leaves it time to be of use.
bool must_be_gone(const State& state, const JobSpec& spec, const Window& window, Instant launch);

// Why the reservation that the job names keeps it waiting: unknown, closed to it, not yet or no
// longer open.
std::vector<Reason> reservation_obstacles(const State& state, const JobSpec& spec);

// May it be submitted as far as its reservation and its deadline go? Errors name the field.
Result<void> admit_times(const State& state, const JobSpec& spec);

}  // namespace dove::core
