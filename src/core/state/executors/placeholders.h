// Placeholders: what executors are to hold for placements of ours, and how far each one is.
//
// There is one for each placement on a node of an executor that requires them, and always one of
// the executor that runs the job. It exists from the launch, or from the executor's declaration. It
// is released when its placement ends, and forgotten once the executor no longer has it. Pure; the
// folds are called by apply only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

// Called for all placeholders of an attempt: visit(key, placeholder).
template <class Visit>
void each_placeholder(const State& state, JobId job, AttemptNumber attempt, Visit visit) {
  for (auto at = state.placeholders.lower_bound({job, attempt, NodeId{}, ""});
       at != state.placeholders.end() && at->first.job == job && at->first.attempt == attempt;
       ++at) {
    visit(at->first, at->second);
  }
}

// Whether executors hold all that its placements name.
bool placeholders_confirmed(const State& state, JobId job, const Attempt& attempt);

// The placement that it is held for; nullptr: its attempt is not the current one.
const PlacementRecord* placement_of(const State& state, const PlaceholderKey& key);

// The devices that the placement names, each once: what its placeholder is to be given.
std::vector<std::int32_t> devices_of(const Placement& placement);

// How long a job waits after its refusals in a row: a second, then twice as long each time.
Span placeholder_backoff(const Job& job);
constexpr Span kBackoff_max = seconds(256);
// Likewise after room was made for it in vain (only_gets_room): others were stopped for that.
Span room_backoff(const Job& job);
constexpr Span kRoomBackoff_min = seconds(600);
constexpr Span kRoomBackoff_max = seconds(7200);

// -- folds ---------------------------------------------------------------------------------------

// Whether the executor is to hold one for each placement of the job on its nodes.
bool holds_for(const NodeExecutor& executor, const JobSpec& spec);

// Wants one of each executor on the node that is to hold one; those that exist stay as they are.
// Returns whether there is such an executor. REQUIRES: the attempt's placement there has not ended.
bool want_placeholders(State& state, const Node& node, JobId job, AttemptNumber attempt);
void release_placeholders(State& state, JobId job, AttemptNumber attempt, NodeId node);

}  // namespace dove::core
