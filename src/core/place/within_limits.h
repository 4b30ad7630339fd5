// Places within limits. Some limits (on models of GPU, requests per node, whole nodes or cores)
// depend on which nodes a job gets. They are checked after places were found; if one is exceeded,
// other places are searched for.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/place/limits.h"
#include "core/state/state.h"

namespace dove::core {

// Whether both are about the same limit.
bool same_limit(const Reason& a, const Reason& b);

// Whether what the job counts against limits depends on which nodes it gets.
bool amount_hangs_on_places(const State& state, const JobSpec& spec);

struct LimitedSearch {
  const State& state;
  const JobSpec& spec;
  const std::vector<NodeId>& avoided;  // by the job: used when no other nodes have room
  // Places on nodes other than those given.
  std::function<std::optional<std::vector<Placement>>(std::span<const NodeId>)> find = {};
  std::vector<Reason> excused = {};  // limits that do not count
};

// Places whatever the limits are.
std::optional<std::vector<Placement>> first_places(const LimitedSearch& search);

// Places within all limits. `broken`, when not null, gets what the first places found would break.
std::optional<std::vector<Placement>> places_within_limits(const LimitedSearch& search,
                                                           std::vector<Reason>* broken = nullptr);

}  // namespace dove::core
