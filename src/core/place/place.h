// Finding places for a gang: all of its tasks on nodes that have room now, or none.
//
// For one group of tasks the search is complete: if any choice of nodes would do, one is found.
// Several groups are placed one after the other, each into what the former ones leave.
//
// A job that names a level of the topology gets the unit of that level with the least free that
// holds it. When there is none and the level is only preferred: the fewest units, as near to each
// other in the tree as there are so many, the last one the tightest that will do. Ranks follow the
// tree.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/place/domain.h"
#include "core/place/fit.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

class PlannedBooks;  // core/plan/plan.h

NodeFree free_of(const FreeView& free);

// The nodes to choose from, ascending by the policy's rank of what they have free.
struct Candidates {
  const RankedNodes* ranked = nullptr;
  const std::vector<Node>* nodes = nullptr;  // by NodeId - 1
  // Of these nodes; null: made of them when the job names a level.
  const Domains* domains = nullptr;
  // That the nodes name: by them labels are found. Null: nobody is on the nodes.
  const IdMap<JobId, Job>* jobs = nullptr;
  // What is free, by NodeId - 1, instead of what the nodes say.
  const std::vector<FreeView>* views = nullptr;
  // Whether there are places is all that is asked: those found are not listed.
  bool only_whether = false;
  // What is promised or reserved, where that is not to be taken; null: nothing is.
  const PlannedBooks* planned = nullptr;
};

// Whether spec's features, wanted and excluded nodes allow the node.
bool allows(const JobSpec& spec, const Node& node);

// Whether the labels of the jobs on the node allow it: it holds one that the job wants near, none
// that it wants apart, and none that wants to be apart from it.
bool labels_allow(const JobSpec& spec, const Node& node, const IdMap<JobId, Job>& jobs);

// Places for all tasks of `spec`, ascending by node_rank; none when there is no room.
std::optional<std::vector<Placement>> find_places(const Candidates& candidates,
                                                  const PlacementPolicy& policy,
                                                  const JobSpec& spec,
                                                  std::span<const NodeId> avoided);

// The same on the nodes of `ranked` alone, whatever level the job names.
std::optional<std::vector<Placement>> find_places_among(const RankedNodes& ranked,
                                                        const Candidates& candidates,
                                                        const PlacementPolicy& policy,
                                                        const JobSpec& spec,
                                                        std::span<const NodeId> avoided);

// How many tasks of one group the nodes of `ranked` have room for, up to all of them; a node counts
// as far as the group may use it.
std::int64_t room_among(const RankedNodes& ranked, const Candidates& candidates,
                        const PlacementPolicy& policy, const JobSpec& spec, const TaskGroup& group,
                        std::span<const NodeId> avoided);

// What all of the job's tasks need together at least.
NodeNeeds needs_of(const JobSpec& spec);

// Whether the node has room for at least one task of the job: if not, freeing something on it
// cannot have helped the job.
bool could_help(const Node& node, const PlacementPolicy& policy, const JobSpec& spec);

// Whether "no room" stays true until something is freed.
bool search_is_monotone(const JobSpec& spec);

}  // namespace dove::core
