#include "core/preempt/victim_search.h"

#include <algorithm>
#include <tuple>

#include "core/collections/sorted.h"
#include "core/place/fit.h"
#include "core/place/limits.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

// How many nodes are looked at to find out whether a victim could be spared after all.
constexpr std::size_t kNodes_looked_at_max = 50'000;
constexpr std::size_t kMoved_max = 64;

// Takes nodes in the order of a rank that says what they cost, devices as the policy in use does.
class ByCost final : public PlacementPolicy {
 public:
  explicit ByCost(const PlacementPolicy& policy) : policy_(policy) {}
  std::string_view name() const override { return "by_cost/1"; }
  // All nodes are alike: the rank that counts is the one in `ranked`, which says what each costs.
  NodeRank rank(const NodeFree&) const override { return {}; }
  NodeRank skip(const NodeRank& from, const NodeNeeds&) const override { return from; }
  DeviceIds whole_devices(const DeviceChoice& choice) const override {
    return policy_.whole_devices(choice);
  }
  std::int32_t share_device(const DeviceChoice& choice) const override {
    return policy_.share_device(choice);
  }

 private:
  const PlacementPolicy& policy_;
};

Amount free_in_sum(const ById<NodeId, Node>& nodes, const RankedNodes& ranked) {
  Amount sum;
  for (const NodeEntry& entry : ranked) {
    const NodeFree free = free_of(nodes[entry.node]);
    // An administrator may have reserved more than is free. Such a node has nothing to give, but it
    // takes nothing from the others either.
    sum.gpus_milli += std::max<std::int64_t>(free.gpus_milli, 0);
    sum.cores += free.cores;
  }
  return sum;
}

}  // namespace

VictimSearch::VictimSearch(const State& state, const PlacementPolicy& policy,
                           const Job& beneficiary, const RankedNodes& ranked,
                           std::span<const JobId> stopping, std::vector<Victim> victims)
    : state_(state),
      policy_(policy),
      beneficiary_(beneficiary),
      spec_(*beneficiary.spec),
      ranked_(ranked),
      victims_(std::move(victims)),
      books_(state, stopping, promises_to_keep(state, beneficiary, stopping)) {
  // victims_ ascends by kind and level, so a step is a run of equals. What is taken is decided step
  // by step: one victim of a later step is worse than any number of an earlier one.
  std::size_t step = 0;
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    const bool next = i > 0 && std::tie(victims_[i - 1].kind, victims_[i - 1].level) !=
                                   std::tie(victims_[i].kind, victims_[i].level);
    if (next) ++step;
    steps_.push_back(step);
  }
  books_.list(victims_);
}

std::optional<std::vector<Placement>> VictimSearch::places(const ById<NodeId, Node>& nodes,
                                                           const RankedNodes& ranked,
                                                           const PlacementPolicy& policy) const {
  Candidates candidates;
  candidates.ranked = &ranked;
  candidates.nodes = &nodes;
  candidates.jobs = &state_.jobs;
  candidates.executors = &state_.executors;
  // To avoid nodes that failed the job before is a wish, as it is for a launch: no places at all
  // are worse.
  auto found = find_places(candidates, policy, spec_, beneficiary_.nodes_avoided);
  if (!found && !beneficiary_.nodes_avoided.empty()) {
    found = find_places(candidates, policy, spec_, {});
  }
  return found;
}

bool VictimSearch::fits(const std::vector<bool>& gone) const {
  return places(books_.without(gone), ranked_, ByCost(policy_)).has_value();
}

std::optional<std::vector<Placement>> VictimSearch::best_places(
    const ById<NodeId, Node>& nodes) const {
  RankedNodes ranked;
  for (const NodeEntry& entry : ranked_) {
    const Node& node = nodes[entry.node];
    ranked.insert({policy_.rank(free_of(node)), node.id});
  }
  return places(nodes, ranked, policy_);
}

// Not less in sum than what is needed: cheaper to know than whether it is in the right places.
bool VictimSearch::could_fit(const ById<NodeId, Node>& nodes) const {
  const Amount needs = least_amount(spec_);
  const Amount has = free_in_sum(nodes, ranked_);
  return has.gpus_milli >= needs.gpus_milli && has.cores >= needs.cores;
}

std::vector<bool> VictimSearch::up_to(std::size_t step) const {
  std::vector<bool> gone;
  for (std::size_t each : steps_) gone.push_back(each <= step);
  return gone;
}

std::optional<std::size_t> VictimSearch::least_step() const {
  // All victims together come first: most beneficiaries that wait cannot be helped at all, and this
  // one search says so.
  std::size_t most = steps_.back();
  const ById<NodeId, Node> nodes = books_.without(up_to(most));
  if (!could_fit(nodes) || !places(nodes, ranked_, ByCost(policy_))) return std::nullopt;
  // Each step's victims include those of the steps before it, and fewer victims never leave more
  // room. What fits after one step therefore fits after every later one, and halving finds the
  // first.
  std::size_t least = 0;
  while (least < most) {
    const std::size_t middle = (least + most) / 2;
    if (fits(up_to(middle))) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

bool VictimSearch::holds(const Node& node, std::span<const Wanted> wanted) const {
  if (spec_.exclusive && !is_idle(node)) return false;
  // One group is the usual case, and needs no copy of the books.
  if (wanted.size() == 1) {
    const TaskGroup& group = spec_.groups[wanted[0].group];
    return capacity(view_of(node), group, policy_, wanted[0].tasks) >= wanted[0].tasks;
  }
  FreeBooks books(node);
  Placement scratch;
  for (const Wanted& one : wanted) {
    const TaskGroup& group = spec_.groups[one.group];
    if (capacity(books.view(), group, policy_, one.tasks) < one.tasks) return false;
    grant(books, group, static_cast<std::int32_t>(one.group), 0, one.tasks, policy_, scratch);
  }
  return true;
}

// Leaves out, in this order, whoever is not needed. All of `order` are gone from `node`.
VictimSearch::Choice VictimSearch::spare(Node node, const std::vector<std::size_t>& order,
                                         std::span<const Wanted> wanted) const {
  // Greedy: each victim is put back, and stays if the node still has room without it. Those that
  // are dear to stop come first in `order`, while there is most room to keep them.
  Choice choice;
  for (std::size_t victim : order) {
    const VictimBooks::Piece& piece = *books_.piece(node.id, victim);
    books_.hold(node, piece);
    if (holds(node, wanted)) continue;
    books_.release(node, piece);
    // A gang's loss is shared among its nodes: stopping it frees all of them.
    const auto nodes = static_cast<std::int64_t>(books_.nodes_of(victim).size());
    choice.victims.push_back(victim);
    // A step outweighs any loss, and a loss any number of victims. The node is as bad as its worst
    // victim.
    choice.rank[0] = std::max(choice.rank[0], static_cast<std::int64_t>(steps_[victim]) + 1);
    choice.rank[1] += victims_[victim].lost / nodes;
    ++choice.rank[2];
  }
  return choice;
}

std::optional<VictimSearch::Choice> VictimSearch::least(NodeId id, std::size_t step,
                                                        std::span<const Wanted> wanted) const {
  Node node = books_.base()[id];
  if (holds(node, wanted)) return Choice{};
  std::vector<std::size_t> order;
  for (const VictimBooks::Piece& piece : books_.pieces(id)) {
    if (steps_[piece.victim] > step) continue;
    books_.release(node, piece);
    order.push_back(piece.victim);
  }
  // Not even all of them are enough. That cannot be helped by taking a later step: `step` is the
  // bound for the whole search.
  if (order.empty() || !holds(node, wanted)) return std::nullopt;
  const auto dearer = [this](std::size_t a, std::size_t b) {
    return std::tuple(steps_[a], victims_[a].lost, victims_[a].job) >
           std::tuple(steps_[b], victims_[b].lost, victims_[b].job);
  };
  std::sort(order.begin(), order.end(), dearer);
  Choice choice = spare(node, order, wanted);
  // Nobody could be spared in the best order, so there is nothing for another order to find.
  if (choice.victims.size() == order.size()) return choice;
  // The least loss that frees enough is a knapsack problem. Two greedy orders come close: by loss,
  // as above, and by loss for each unit freed, since one large victim may lose less than several
  // small ones, of which each loses little.
  const auto dense = [this](std::size_t victim) {
    return victims_[victim].lost / std::max<std::int64_t>(victims_[victim].weight, 1);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(steps_[a], dense(a)) > std::tuple(steps_[b], dense(b));
  });
  Choice other = spare(std::move(node), order, wanted);
  return other.rank < choice.rank ? other : choice;
}

// How many tasks the gang would like to have on the node: as the shape says, else all it holds.
std::int32_t VictimSearch::tasks_on_a_node(NodeId id, std::size_t step) const {
  const TaskGroup& group = spec_.groups.front();
  if (group.tasks_per_node > 0) return std::min(group.tasks_per_node, group.tasks);
  if (group.nodes_min > 0 && group.nodes_min == group.nodes_max) {
    return (group.tasks + group.nodes_min - 1) / group.nodes_min;
  }
  Node node = books_.base()[id];
  for (const VictimBooks::Piece& piece : books_.pieces(id)) {
    if (steps_[piece.victim] <= step) books_.release(node, piece);
  }
  // At least one: a node without room for any task is rated by the price of one, and comes last.
  return std::max(capacity(view_of(node), group, policy_, group.tasks), 1);
}

std::optional<std::vector<bool>> VictimSearch::choose(std::size_t step) const {
  constexpr std::int64_t kNot_alone = std::numeric_limits<std::int64_t>::max() / 2;
  // First each node is rated by what its share of the gang would cost there. A node that cannot
  // hold a full share comes last instead of being dropped: the gang may put fewer tasks on it.
  RankedNodes by_cost;
  for (const NodeEntry& entry : ranked_) {
    const Wanted wanted[] = {{0, tasks_on_a_node(entry.node, step)}};
    const auto choice = least(entry.node, step, wanted);
    by_cost.insert({choice ? choice->rank : NodeRank{kNot_alone, 0, 0}, entry.node});
  }
  // With everybody of the step gone there are places (least_step saw to that), unless costs lead
  // the search past them: it takes the first nodes that do.
  const auto gang = places(books_.without(up_to(step)), by_cost, ByCost(policy_));
  if (!gang) return std::nullopt;
  // Then the gang takes the cheapest nodes, and each is asked again, now for the tasks that it
  // really gets.
  std::vector<bool> gone(victims_.size(), false);
  for (const Placement& placement : *gang) {
    std::vector<Wanted> wanted;
    for (const TaskGrant& task : placement.tasks) {
      const auto group = static_cast<std::size_t>(task.group);
      if (wanted.empty() || wanted.back().group != group) wanted.push_back({group, 0});
      ++wanted.back().tasks;
    }
    const auto choice = least(placement.node, step, wanted);
    if (!choice) return std::nullopt;
    for (std::size_t victim : choice->victims) gone[victim] = true;
  }
  return gone;
}

std::vector<std::size_t> VictimSearch::dearest_first(const std::vector<bool>& gone) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return std::tuple(steps_[a], victims_[a].lost, victims_[a].job) >
           std::tuple(steps_[b], victims_[b].lost, victims_[b].job);
  });
  return order;
}

// A victim of several nodes, or of one where another shape fits, may turn out not to be needed.
void VictimSearch::spare_anywhere(std::vector<bool>& gone) const {
  ById<NodeId, Node> nodes = books_.without(gone);
  const ByCost policy(policy_);
  // Each round is a search over all nodes; the bound is on nodes, so that a large cluster spares
  // fewer victims instead of taking longer.
  std::size_t looked_at = 0;
  for (std::size_t victim : dearest_first(gone)) {
    looked_at += ranked_.size();
    if (looked_at > kNodes_looked_at_max) return;
    for (NodeId id : books_.nodes_of(victim)) {
      books_.hold(nodes[id], *books_.piece(id, victim));
    }
    if (places(nodes, ranked_, policy)) {
      gone[victim] = false;
      continue;
    }
    for (NodeId id : books_.nodes_of(victim)) {
      books_.release(nodes[id], *books_.piece(id, victim));
    }
  }
}

std::optional<Preemption> VictimSearch::find() {
  Preemption found;
  // What is being stopped already may be enough. To take more then would stop somebody for nothing.
  if (auto now = best_places(books_.base())) {
    found.placements = std::move(*now);
    return found;
  }
  if (victims_.empty()) return std::nullopt;
  const auto step = least_step();
  if (!step) return std::nullopt;
  // choose() looks at one node at a time and can be wrong about the whole: the job may ask for
  // nodes of one rack, say. All victims up to the step are always enough, and those that are not
  // needed are spared next.
  auto gone = choose(*step);
  if (!gone || !fits(*gone)) gone = up_to(*step);
  spare_anywhere(*gone);
  // The victims were chosen by cost; where the job goes is up to the policy again, with all their
  // places free.
  auto places_then = best_places(books_.without(*gone));
  if (!places_then) return std::nullopt;
  found.placements = std::move(*places_then);
  for (std::size_t i = 0; i < gone->size(); ++i) {
    if (!(*gone)[i]) continue;
    // Nobody would keep from the executor's next job what this one leaves.
    const ForeignJobPtr& foreign = victims_[i].foreign;
    if (foreign != nullptr && !shares_device(foreign->job, found.placements)) return std::nullopt;
    found.victims.push_back(victims_[i]);
  }
  return found;
}

bool VictimSearch::can_move(const Preemption& found, const NodesOf& nodes_of) const {
  if (found.victims.size() > kMoved_max) return false;
  std::vector<bool> gone(victims_.size(), false);
  for (const Victim& victim : found.victims) {
    for (std::size_t i = 0; i < victims_.size(); ++i) {
      if (victims_[i].job == victim.job) gone[i] = true;
    }
  }
  ById<NodeId, Node> nodes = books_.without(gone);
  const auto settle = [&](JobId id, const std::vector<Placement>& placements) {
    for (const Placement& placement : placements) {
      Node& node = nodes[placement.node];
      allocate(node, placement);
      add_sorted(node.jobs, id);
    }
  };
  // The beneficiary first: it has the places that it was found. The victims then share the rest,
  // one after the other, as they would be launched.
  settle(beneficiary_.id, found.placements);
  for (const Victim& victim : found.victims) {
    const Job& job = *state_.find_job(victim.job);
    Candidates candidates;
    candidates.ranked = &nodes_of(*job.spec);
    candidates.nodes = &nodes;
    candidates.jobs = &state_.jobs;
    candidates.executors = &state_.executors;
    const auto elsewhere = find_places(candidates, ByCost(policy_), *job.spec, job.nodes_avoided);
    if (!elsewhere) return false;
    settle(victim.job, *elsewhere);
  }
  return true;
}

}  // namespace dove::core
