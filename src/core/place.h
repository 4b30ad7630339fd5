// Finding places for a gang: all of its tasks on nodes that have room now, or none.
//
// For one group of tasks the search is complete: if any choice of nodes would do, one is found.
// Several groups are placed one after the other, each into what the former ones leave.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/policy.h"
#include "core/state.h"

namespace dove::core {

struct NodeEntry {
  NodeRank rank = {};
  NodeId node;
  auto operator<=>(const NodeEntry&) const = default;
};

// The nodes to choose from, ascending by the policy's rank of what they have free.
struct Candidates {
  const std::set<NodeEntry>* ranked = nullptr;
  const std::vector<Node>* nodes = nullptr;  // by NodeId - 1
};

NodeFree free_of(const Node& node);

// Whether spec's features, wanted and excluded nodes allow the node.
bool allows(const JobSpec& spec, const Node& node);

// Places for all tasks of `spec`, ascending by node_rank; none when there is no room.
std::optional<std::vector<Placement>> find_places(const Candidates& candidates,
                                                  const PlacementPolicy& policy,
                                                  const JobSpec& spec,
                                                  std::span<const NodeId> avoided);

// Whether the node has room for at least one task of the job: if not, freeing something on it
// cannot have helped the job.
bool could_help(const Node& node, const PlacementPolicy& policy, const JobSpec& spec);

// Whether "no room" stays true until something is freed.
bool search_is_monotone(const JobSpec& spec);

}  // namespace dove::core
