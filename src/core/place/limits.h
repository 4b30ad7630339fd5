// Limits: what of a queue, a user, the cluster, an array or a pool keeps a job waiting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// What a job would add to usage.
struct Amount {
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  std::vector<Countable> countables;     // of its nodes, ascending by name
  std::vector<Countable> gpus_by_model;  // milli, by model in lower case; as far as it is known
};

// The least that the spec can hold, before its nodes are known.
Amount least_amount(const JobSpec& spec);
Amount amount_of(const State& state, const std::vector<Placement>& placements);
void add_amount(const State& state, const Placement& placement, Amount& amount);
// What is counted by the model of devices and by the profile of slices: its GPUs by model, and its
// slices among the countables.
void add_kinds(const Inventory& inventory, const Placement& placement, Amount& amount);

// The model as limits and usage name it: in lower case.
std::string model_key(const std::string& model);

// Reason::resource of a limit by model: this, then the model's key.
constexpr std::string_view kByModel = "gpus_milli:";
// The countable that limits, guarantees and usage name slices by: this, then the profile.
constexpr std::string_view kBySlice = "slice:";

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
