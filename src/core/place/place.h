// Finding places for a gang: for all of its tasks on nodes that have room now, or for none.
//
// For one group of tasks the search is complete: if any choice of nodes works, one is found.
// Several groups are placed one after another, each into what the previous ones left.
//
// A job that names a level of the topology gets the unit of that level with the least free room
// that holds the job. If no unit holds it and the level is only preferred, the job gets the
// smallest number of units that suffices, nearest to each other in the tree; the last one is the
// tightest that suffices. Ranks follow the tree.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/place/candidates.h"

namespace dove::core {

// Whether all of its nodes are to have the same one of several features ("[a|b]"): which one is
// chosen with the nodes. A job has one such wish at most (core/admit).
bool has_wish_for_all(const JobSpec& spec);
// The job with each of these features in place of that wish. REQUIRES: has_wish_for_all(spec).
std::vector<JobSpec> with_each_choice(const JobSpec& spec);

// Places for all tasks of `spec`, ascending by node_rank; none when there is no room.
std::optional<std::vector<Placement>> find_places(const Candidates& candidates,
                                                  const PlacementPolicy& policy,
                                                  const JobSpec& spec,
                                                  std::span<const NodeId> avoided);

// What all of the job's tasks need together at least.
NodeNeeds needs_of(const JobSpec& spec);

}  // namespace dove::core
