// Places by score: where a job goes best among the nodes that have room now.
//
// Scores decide where a job goes, never whether it goes. They know what is free, and nothing of
// promises, of nodes that are kept, and of labels: the usual search looks at the nodes that they
// name, a few of the next best among them, and whoever gets no places here searches in full. Nor do
// they know of features, names and custom resources: who asks for those gets the best that will do.
#pragma once

#include <optional>
#include <vector>

#include "core/cycle/passes.h"
#include "core/place/candidates.h"

namespace dove::core {

// On the nodes that score best; none when the job is of a kind that is not scored (ScoreBoard), or
// those nodes will not do. REQUIRES: `candidates` are those of the class's pool.
std::optional<std::vector<Placement>> places_by_score(Cycle& cycle, const EquivalenceClass& it,
                                                      const Candidates& candidates);

// Whether a unit of the topology is to be chosen before nodes are.
bool goes_by_unit(const JobSpec& spec, const Domains& domains);
// As places_by_score, inside the unit that `found` is in; none when that is in several.
// REQUIRES: goes_by_unit(*it.spec, *candidates.domains).
std::optional<std::vector<Placement>> better_in_unit(Cycle& cycle, const EquivalenceClass& it,
                                                     const Candidates& candidates,
                                                     const std::vector<Placement>& found);

}  // namespace dove::core
