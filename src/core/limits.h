// Limits: what of a queue, a user, the cluster, an array or a pool keeps a job waiting.
#pragma once

#include <vector>

#include "core/state.h"
#include "model/reason.h"

namespace dove::core {

// What a job would add to usage.
struct Amount {
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  std::vector<Countable> countables;  // of its nodes, ascending by name
};

// The least that the spec can hold, before its nodes are known.
Amount least_amount(const JobSpec& spec);
Amount amount_of(const std::vector<Placement>& placements);

// Every limit that the job would break by starting now; empty: none. `first_only` stops at one.
std::vector<Reason> broken_limits(const State& state, const JobSpec& spec, const Amount& amount,
                                  bool first_only);

// What administrators declared that keeps the job waiting whatever is free: closed pool, time.
std::vector<Reason> declared_obstacles(const State& state, const JobSpec& spec);

// The limits of the user's own entry, or of everybody's; null without.
const Limits* limits_of_user(const State& state, const std::string& user);

}  // namespace dove::core
