// The search for places among nodes: which of them a gang goes to, and how many tasks each gets.
//
// For one group of tasks the search is complete: if any choice of nodes would do, one is found.
// Several groups are placed one after the other, each into what the former ones leave.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/place/candidates.h"

namespace dove::core {

// Places for all tasks of `spec` on the nodes of `ranked`, whatever level of the topology it names,
// ascending by node_rank; none when there is no room.
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

}  // namespace dove::core
