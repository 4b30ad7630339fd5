// Alternatives to the set of causes that `explain` names: other sets, none of them larger, without
// which the job would also find places. Pure.
//
// A set is given only if no subset of it would suffice. Sets are tried in a fixed order, smallest
// first. Each trial is a search for places, so only kTrials are made; `all` says whether that was
// enough. A job that never fits has no alternatives.
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
