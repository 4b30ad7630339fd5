// Which other causes would do as well as those that `explain` names: sets of causes, none of them
// larger, with each of which gone the job would find places. Pure.
//
// A set is given only if no part of it would do. Sets are tried in a fixed order, smallest first,
// and each trial is a search for places, so that only kTrials of them are made: `all` says whether
// that was enough. Nothing is given for a job that never fits.
#pragma once

#include <string>
#include <vector>

#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

class ExplainIndex;

// As in explain_places.h; `resource` of kResources: "gpus", or "nodes" for all that runs on them.
struct OtherCause {
  ReasonKind kind;
  std::string resource;
};

struct OtherSets {
  std::vector<std::vector<OtherCause>> sets;
  bool all = true;
};

OtherSets other_sets(const State& state, const Policies& policies, const Job& job);
OtherSets other_sets(ExplainIndex& index, const Job& job);

}  // namespace dove::core
