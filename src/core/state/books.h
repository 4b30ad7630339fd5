// The books: what nodes have free, and what users, queues and the cluster use.
//
// Only apply calls the functions that change them. Sums always equal the placements that have not
// ended; find_broken_invariant verifies this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

// Core ids of the node that jobs may hold, ascending: all but the lowest cores_reserved.
CoreSet usable_cores(const Node& node);
// Those of them that no executor holds for others.
CoreSet open_cores(const Node& node);
// No finding closes it, and no executor holds it for others.
bool is_device_open(const Node& node, std::size_t device);

// Moves what a placement holds from free to held, or back. A device that is not open has nothing
// free in any case.
void allocate(Node& node, const Placement& placement);
void release(Node& node, const Placement& placement);

// Computes what is free from inventory, declaration and the placements that have not ended.
void rebuild_books(const State& state, Node& node);

// The pool a spec names, or the default pool; null when there is no such pool.
const Pool* pool_of(const State& state, const JobSpec& spec);

// How long the job may run once started; 0 is without limit.
Span time_limit_of(const State& state, const JobSpec& spec);

// The queue of that name and all above it, from below; empty when there is no such queue.
std::vector<const Queue*> queue_path(const State& state, const std::string& name);

// Jobs with a placement that has not ended, ascending: found on the nodes, not among all jobs.
std::vector<JobId> jobs_on_nodes(const State& state);

// The usage of the job's user, project, domain, its queues upwards, and the cluster.
void count_waiting(State& state, Job& job, int sign);
void count_asked(State& state, Job& job, int sign);    // of project, domain
void count_running(State& state, Job& job, int sign);  // and its cluster-wide countables
void count_placement(State& state, Job& job, const Placement& placement, int sign);

// In a list ascending by name; 0 when absent.
std::int64_t amount_of(const std::vector<Countable>& countables, std::string_view name);

}  // namespace dove::core
