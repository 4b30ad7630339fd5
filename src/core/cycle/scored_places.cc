#include "core/cycle/scored_places.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/place/node_search.h"
#include "core/place/node_shape.h"
#include "core/place/score_board.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

using Places = std::optional<std::vector<Placement>>;

// Takes shares of the device that was chosen with the node.
class OnDevice final : public PlacementPolicy {
 public:
  OnDevice(const PlacementPolicy& policy, std::int32_t device) : policy_(policy), device_(device) {}
  std::string_view name() const override { return policy_.name(); }
  NodeRank rank(const NodeFree& free) const override { return policy_.rank(free); }
  NodeRank skip(const NodeRank& from, const NodeNeeds& needs) const override {
    return policy_.skip(from, needs);
  }
  DeviceIds whole_devices(const DeviceChoice& choice) const override {
    return policy_.whole_devices(choice);
  }
  std::int32_t share_device(const DeviceChoice& choice) const override {
    // The score was given for the node's free devices. A promise may keep that very device; then
    // the policy chooses another.
    const bool offered =
        std::any_of(choice.offers.begin(), choice.offers.end(),
                    [&](const DeviceOffer& offer) { return offer.device == device_; });
    return offered ? device_ : policy_.share_device(choice);
  }

 private:
  const PlacementPolicy& policy_;
  std::int32_t device_;
};

// The board remembers what is open: nodes that are kept from this job are left to
// Candidates::free.
std::vector<ScoreBoard::Choice> best_nodes(Cycle& cycle, const EquivalenceClass& it,
                                           const ScoreBoard::Wanted& wanted) {
  Indexes& indexes = cycle.indexes;
  const auto open = [&](NodeId id) {
    const IndexedNode& entry = indexes.nodes[id];
    // The board scores all nodes alike; which of them belong to the pool is known here, and that no
    // executor runs what is scored.
    return entry.available && has_agent(cycle.state.nodes[id]) &&
           std::find(entry.pools.begin(), entry.pools.end(), it.pool) != entry.pools.end();
  };
  return indexes.scores.choose(cycle.state, it.pool->name, *it.spec, open, wanted);
}

// The usual search on these nodes: labels, promises and limits are checked as always. A level of
// the topology is not: the nodes are of one unit, or any will do.
Places places_on(const Cycle& cycle, const EquivalenceClass& it, const Candidates& candidates,
                 std::span<const ScoreBoard::Choice> nodes) {
  RankedNodes ranked;
  for (const auto& each : nodes) ranked.insert({cycle.indexes.nodes[each.node].rank, each.node});
  // A gang's shares each go to the device that the placement policy chooses. Several on one node go
  // to the one that is best for the first, as long as it has room.
  const std::int32_t device = nodes.size() == 1 ? nodes.front().device : kAnyDevice;
  return find_places_among(ranked, candidates, OnDevice(*cycle.policies.placement, device),
                           *it.spec, {});
}

// The next best are looked at as well when one of the best will not do, and no more than that:
// where much is promised or kept, the search knows better.
constexpr std::size_t kNext_best = 3;

// Whether it asks of nodes what scores do not know: features, names, custom resources.
bool is_choosy(const JobSpec& spec) {
  const TaskGroup& group = spec.groups.front();
  return !spec.features.empty() || !spec.nodes_wanted.empty() || !spec.nodes_excluded.empty() ||
         !group.per_task.countables.empty() || !group.per_node.countables.empty();
}

// The best nodes that will do, in the same order; as many as the job takes, or none.
std::vector<ScoreBoard::Choice> best_that_will_do(Cycle& cycle, const EquivalenceClass& it,
                                                  const Candidates& candidates,
                                                  ScoreBoard::Wanted wanted) {
  const JobSpec& spec = *it.spec;
  const NodeShape shape = *scored_shape(spec);
  const auto count = static_cast<std::size_t>(shape.nodes);
  const auto will_do = [&](const ScoreBoard::Choice& each) {
    if (!has_wished(spec, cycle.state.nodes[each.node])) return false;
    const RankedNodes one = {{cycle.indexes.nodes[each.node].rank, each.node}};
    return room_among(one, candidates, *cycle.policies.placement, spec, spec.groups.front(), {}) >=
           shape.tasks;
  };
  std::vector<ScoreBoard::Choice> good;
  std::size_t seen = 0;
  for (wanted.spare = kNext_best;; wanted.spare = 4 * (count + wanted.spare)) {
    const std::vector<ScoreBoard::Choice> best = best_nodes(cycle, it, wanted);
    for (; seen < best.size() && good.size() < count; ++seen) {
      if (will_do(best[seen])) good.push_back(best[seen]);
    }
    if (good.size() == count) return good;
    // Which nodes a choosy job may have says nothing about how they score: it is worth looking
    // further until all nodes with room have been seen.
    if (!is_choosy(spec) || best.size() < count + wanted.spare) return {};
  }
}

Places scored_places(Cycle& cycle, const EquivalenceClass& it, const Candidates& candidates,
                     const ScoreBoard::Wanted& wanted) {
  std::vector<ScoreBoard::Choice> best = best_nodes(cycle, it, wanted);
  if (best.empty()) return std::nullopt;
  if (!is_choosy(*it.spec)) {
    if (Places found = places_on(cycle, it, candidates, best)) return found;
  }
  best = best_that_will_do(cycle, it, candidates, wanted);
  if (best.empty()) return std::nullopt;
  return places_on(cycle, it, candidates, best);
}

}  // namespace

Places places_by_score(Cycle& cycle, const EquivalenceClass& it, const Candidates& candidates) {
  return scored_places(cycle, it, candidates, {});
}

bool goes_by_unit(const JobSpec& spec, const Domains& domains) {
  if (spec.domain.empty()) return false;
  // A node by itself is what scores choose; a gang over several is never on one.
  if (spec.domain == kNodeLevel) {
    const auto asked = scored_shape(spec);
    return !asked || asked->nodes > 1;
  }
  return spec.domain_required || domains.has_level(spec.domain);
}

Places better_in_unit(Cycle& cycle, const EquivalenceClass& it, const Candidates& candidates,
                      const std::vector<Placement>& found) {
  const Domains& domains = *candidates.domains;
  const std::int32_t unit = domains.unit_with(found.front().node, it.spec->domain);
  if (unit < 0) return std::nullopt;
  const bool one = std::all_of(found.begin(), found.end(), [&](const Placement& each) {
    return domains.unit_with(each.node, it.spec->domain) == unit;
  });
  if (!one) return std::nullopt;
  return scored_places(cycle, it, candidates, {.among = &domains.unit(unit).nodes});
}

}  // namespace dove::core
