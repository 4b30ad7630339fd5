// Reservations: who may use which nodes and when, until when an attempt can hold its places, and by
// when it has to be stopped.
//
// A reservation admits the users and projects that it lists. One that lists nobody admits the jobs
// that name it, and an outage admits nobody. Spare nodes admit gangs that were stopped by a faulty
// node. A job that names a reservation runs only inside it: on its nodes, between its instants.
// Other jobs start on its nodes only if they will have ended when it begins.
#pragma once

#include <vector>

#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// A reservation as one node sees it.
struct Window {
  Instant from;
  Instant to;
  const Reservation* of = nullptr;  // in the state; valid while nothing is declared
};

// A job as reservations see it.
struct Guest {
  const JobSpec& spec;
  // The number of nodes of its last attempt, if a bad one ended it: lost, not to be trusted, unfit
  // before the start, or silent. 0: it is no restart.
  std::int32_t restart_nodes = 0;
};
Guest guest_of(const Job& job);
// Alike in all that reservations ask of a job.
bool same_windows(const Guest& one, const Guest& other);

bool admits(const Reservation& reservation, const Guest& guest);

// The reservation that the job names; null without one, or when there is no such reservation.
const Reservation* reservation_of(const State& state, const JobSpec& spec);

// Reservations that are not over, as the node sees them.
std::vector<Window> windows_of(const State& state, const Node& node);

// Whether there are any such, on whatever nodes.
bool reserves(const State& state);

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
Instant places_free_at(const State& state, const Job& job);

// Its deadline and the end of its reservation: stopped then, whatever its time limit. kNever: none.
Instant latest_end(const State& state, const JobSpec& spec);

// The attempt must be stopped at this instant for its time, its deadline, or the end of its
// reservation; kNever without a limit. A job that saves its work before it is preempted has its
// limit for all attempts together.
Instant time_limit_at(const State& state, const Job& job);

// When the ledger stops it for that. The limit of a job of an executor's users is the executor's to
// enforce, and may have been changed there since: the ledger plans by the one that it was told.
Instant limit_stop_at(const State& state, const Job& job);

// What is left of its time limit when its next attempt begins; 0: no limit, or all of it is used.
// What was saved counts: the limit is for all slices together.
Span limit_left(const State& state, const Job& job);

// The limit of its last attempt alone, which agents are told; 0: none. A microsecond for a job that
// has used all of its limit, since 0 would say that it has none.
Span limit_of_attempt(const State& state, const Job& job);

// From then on the waiting job can no longer end by its deadline; kNever without one.
Instant missed_at(const State& state, const Job& job);

// Started later than this it could not end by its deadline; kNever without a deadline.
Instant latest_start(const State& state, const JobSpec& spec);

// When the active job has to be stopped so that an outage finds its nodes empty; kNever: not.
Instant outage_stop_at(const State& state, const Job& job);

// Whether a job launched then on a node has to be gone before the window; a preemptible job may
// start before an outage that leaves it time to be of use.
bool must_be_gone(const State& state, const Guest& guest, const Window& window, Instant launch);

// Whether the job may hold places on a node with such windows all through [from, to).
bool is_open(const State& state, const Guest& guest, const std::vector<Window>& windows,
             Instant from, Instant to);

// Why the reservation that the job names keeps it waiting: unknown, closed to it, not yet or no
// longer open.
std::vector<Reason> reservation_obstacles(const State& state, const JobSpec& spec);

}  // namespace dove::core
