// Limits: what of a queue, a user, the cluster, an array or a pool keeps a job waiting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/state/amount.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// Every limit that the job would break by starting now; empty: none. `first_only` stops at one.
std::vector<Reason> broken_limits(const State& state, const JobSpec& spec, const Amount& amount,
                                  bool first_only);

// Whether there is none, found without looking for names. `account`: that of such jobs.
bool is_within_limits(const State& state, const JobSpec& spec, const Account& account,
                      const Amount& amount);

// Every limit of the job's project that submitting `elements` such jobs would break.
std::vector<Reason> broken_project_limits(const State& state, const JobSpec& spec,
                                          std::int64_t elements);

// Whether the pool is open to the user and the project: to everybody, or by the union of its users,
// projects and domains.
bool may_use(const State& state, const Pool& pool, const std::string& user,
             const std::string& project);

// What administrators declared that keeps the job waiting whatever is free: closed pool, time.
std::vector<Reason> declared_obstacles(const State& state, const JobSpec& spec);

// The limits of the user's own entry, or of everybody's; null without.
const Limits* limits_of_user(const State& state, const std::string& user);

}  // namespace dove::core
