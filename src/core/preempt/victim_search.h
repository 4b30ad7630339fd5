// VictimSearch: the smallest set of jobs that must be stopped so that a whole gang fits.
//
// Either the whole gang has places once the victims are gone, or there are no victims: a set that
// frees enough in sum, but not in the right places, is never taken (kueue#5243). Every victim is
// necessary. The search considers as few kinds and levels of victims as possible, then the nodes on
// which the least work is lost. Pure; bounded by steps.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/place/place.h"
#include "core/preempt/victim_books.h"
#include "core/preempt/victims.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

struct Preemption {
  std::vector<Victim> victims;        // empty: what is being stopped already makes room
  std::vector<Placement> placements;  // of the beneficiary, once the victims are gone
};

class VictimSearch {
 public:
  // `ranked`: the nodes that the beneficiary may use. REQUIRES: all arguments outlive this;
  // victims ascend by kind and level, and any subset of them may be taken.
  VictimSearch(const State& state, const PlacementPolicy& policy, const Job& beneficiary,
               const RankedNodes& ranked, std::span<const JobId> stopping,
               std::vector<Victim> victims);

  std::optional<Preemption> find();

  // The nodes that a job may use.
  using NodesOf = std::function<const RankedNodes&(const JobSpec&)>;
  // Whether all victims of what was found would have places at once beside the beneficiary.
  bool can_move(const Preemption& found, const NodesOf& nodes_of) const;

 private:
  struct Wanted {
    std::size_t group = 0;
    std::int32_t tasks = 0;
  };
  // The victims to stop on one node.
  struct Choice {
    NodeRank rank = {};  // the last step, work lost, number
    std::vector<std::size_t> victims;
  };

  bool could_fit(const ById<NodeId, Node>& nodes) const;
  std::optional<std::vector<Placement>> places(const ById<NodeId, Node>& nodes,
                                               const RankedNodes& ranked,
                                               const PlacementPolicy& policy) const;
  bool fits(const std::vector<bool>& gone) const;
  // Places on the nodes as they would be, in the policy's own order.
  std::optional<std::vector<Placement>> best_places(const ById<NodeId, Node>& nodes) const;
  // The least step up to which all victims together make room; none when all do not.
  std::optional<std::size_t> least_step() const;
  std::vector<bool> up_to(std::size_t step) const;
  bool holds(const Node& node, std::span<const Wanted> wanted) const;
  // The least on one node for what is wanted there; none when all victims do not make room.
  std::optional<Choice> least(NodeId id, std::size_t step, std::span<const Wanted> wanted) const;
  Choice spare(Node node, const std::vector<std::size_t>& order,
               std::span<const Wanted> wanted) const;
  std::int32_t tasks_on_a_node(NodeId id, std::size_t step) const;
  // By victim: stopped for places on the nodes where that costs least.
  std::optional<std::vector<bool>> choose(std::size_t step) const;
  void spare_anywhere(std::vector<bool>& gone) const;
  // Victims that are gone, the dearest first.
  std::vector<std::size_t> dearest_first(const std::vector<bool>& gone) const;

  const State& state_;
  const PlacementPolicy& policy_;
  const Job& beneficiary_;
  const JobSpec& spec_;
  const RankedNodes& ranked_;
  std::vector<Victim> victims_;
  std::vector<std::size_t> steps_;  // by victim: its kind and level, counted from 0
  VictimBooks books_;
};

}  // namespace dove::core
