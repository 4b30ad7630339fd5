// How declarations change usage: which queues jobs count towards, and whether devices are counted
// by model.
//
// Each function leaves usage, and past use up to now, as if all jobs had been counted anew. Only
// apply calls them.
#pragma once

#include <string>

#include "core/state/state.h"

namespace dove::core {

// Counts all usage anew: a pass over all jobs.
void rebuild_usage(State& state);

// Counts usage by domain anew, on a copy of the state; snapshots from before lack it.
void count_domains(State& state);

// Declare and delete what has limits or guarantees. They pass over jobs only if devices are to be
// counted by model from now on, or no more; those of queues also if jobs in the queue, or below it,
// count towards others than before, those of projects and users if they move to another domain with
// jobs. The default queue stays. What is declared in one go is paid
// for by the object, but for the first, which brings past use up to now for all.
void put_queue(State& state, const Queue& queue);
void drop_queue(State& state, const std::string& name);
void put_limit(State& state, const UserLimit& limit);
void drop_limit(State& state, const std::string& name);
void put_project(State& state, const Project& project);
void drop_project(State& state, const std::string& name);
void put_domain(State& state, const Domain& domain);
void drop_domain_limits(State& state, const std::string& name);
// A user who moves to another domain takes their jobs along.
void put_user(State& state, const UserDeclaration& user);

}  // namespace dove::core
