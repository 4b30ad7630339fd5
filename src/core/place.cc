#include "core/place.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/fit.h"
#include "core/hostlist.h"

namespace dove::core {
namespace {

struct Share {
  NodeId node;
  std::int32_t tasks = 0;
};

// One search: what is allowed, and what earlier groups of the job have taken.
class Search {
 public:
  Search(const Candidates& candidates, const PlacementPolicy& policy, const JobSpec& spec,
         std::span<const NodeId> avoided)
      : candidates_(candidates), policy_(policy), spec_(spec), avoided_(avoided) {}

  // Nodes for all tasks of the group; empty when there is no room.
  std::vector<Share> spread(const TaskGroup& group) const;

  void take(const TaskGroup& group, std::int32_t index, Rank first_rank,
            const std::vector<Share>& shares);
  std::vector<Placement> finish();

 private:
  const Node& node(NodeId id) const { return (*candidates_.nodes)[id.value - 1]; }

  FreeView view(NodeId id) const {
    const auto at = books_.find(id);
    return at == books_.end() ? view_of(node(id)) : at->second.view();
  }

  bool usable(NodeId id) const {
    const Node& it = node(id);
    if (spec_.exclusive && !it.jobs.empty()) return false;
    if (std::find(avoided_.begin(), avoided_.end(), id) != avoided_.end()) return false;
    return allows(spec_, it);
  }

  // The first node, in the policy's order, that could meet the needs.
  std::set<NodeEntry>::const_iterator first_for(const NodeNeeds& needs) const {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    const NodeRank rank = policy_.skip({kLeast, kLeast, kLeast}, needs);
    return candidates_.ranked->lower_bound({rank, NodeId{}});
  }

  // Adds up to `count` nodes with room for `tasks` each, not yet in `shares`, tightest first.
  void add_tightest(const TaskGroup& group, std::int32_t tasks, std::size_t count,
                    std::vector<Share>& shares) const;
  // All nodes with room for a task, roomiest first, then in the policy's order.
  std::vector<Share> by_room(const TaskGroup& group) const;
  std::vector<Share> spread_over(const TaskGroup& group, std::int32_t nodes) const;
  std::vector<Share> spread_freely(const TaskGroup& group) const;

  const Candidates& candidates_;
  const PlacementPolicy& policy_;
  const JobSpec& spec_;
  std::span<const NodeId> avoided_;
  std::map<NodeId, FreeBooks> books_;  // of nodes in use by this job
  std::vector<Placement> placements_;
};

void Search::add_tightest(const TaskGroup& group, std::int32_t tasks, std::size_t count,
                          std::vector<Share>& shares) const {
  if (count == 0) return;
  const NodeNeeds needs = needs_of(group, tasks);
  const std::size_t before = shares.size();
  const auto& ranked = *candidates_.ranked;
  auto at = first_for(needs);
  while (at != ranked.end() && shares.size() < before + count) {
    const NodeRank next = policy_.skip(at->rank, needs);
    if (next > at->rank) {
      at = ranked.lower_bound({next, NodeId{}});
      continue;
    }
    const NodeId id = at->node;
    ++at;
    if (!usable(id)) continue;
    if (std::any_of(shares.begin(), shares.end(), [&](const Share& s) { return s.node == id; })) {
      continue;
    }
    if (capacity(view(id), group, policy_, tasks) >= tasks) shares.push_back({id, tasks});
  }
}

std::vector<Share> Search::by_room(const TaskGroup& group) const {
  std::vector<Share> found;
  const NodeNeeds needs = needs_of(group, 1);
  const auto& ranked = *candidates_.ranked;
  for (auto at = first_for(needs); at != ranked.end();) {
    const NodeRank next = policy_.skip(at->rank, needs);
    if (next > at->rank) {
      at = ranked.lower_bound({next, NodeId{}});
      continue;
    }
    const NodeId id = at->node;
    ++at;
    if (!usable(id)) continue;
    const std::int32_t room = capacity(view(id), group, policy_, group.tasks);
    if (room > 0) found.push_back({id, room});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Share& a, const Share& b) { return a.tasks > b.tasks; });
  return found;
}

// Evenly if possible, else filling the roomiest; each node gets a task at least.
std::vector<Share> Search::spread_over(const TaskGroup& group, std::int32_t nodes) const {
  std::vector<Share> shares;
  const std::int32_t each = group.tasks / nodes;
  const auto more = static_cast<std::size_t>(group.tasks % nodes);
  const auto all = static_cast<std::size_t>(nodes);
  add_tightest(group, each + 1, more, shares);
  if (shares.size() == more) {
    add_tightest(group, each, all - more, shares);
    if (shares.size() == all) return shares;
  }
  shares = by_room(group);
  if (shares.size() < all) return {};
  shares.resize(all);
  std::int32_t left = group.tasks;
  std::int32_t after = nodes;
  for (Share& share : shares) {
    --after;
    share.tasks = std::min(share.tasks, left - after);
    left -= share.tasks;
  }
  return left == 0 ? shares : std::vector<Share>{};
}

// On as few nodes as possible: the last one is the tightest that holds what is left.
std::vector<Share> Search::spread_freely(const TaskGroup& group) const {
  const std::int32_t least = std::max(group.nodes_min, 1);
  const std::int32_t most = group.nodes_max > 0 ? group.nodes_max : group.tasks;
  std::vector<Share> shares;
  if (least == 1) {
    add_tightest(group, group.tasks, 1, shares);
    if (!shares.empty() || group.tasks == 1) return shares;
  }
  std::int32_t left = group.tasks;
  for (const Share& room : by_room(group)) {
    if (left == 0 || static_cast<std::int32_t>(shares.size()) == most) break;
    const std::int32_t tasks = std::min(room.tasks, left);
    left -= tasks;
    if (left == 0) {
      const std::size_t before = shares.size();
      add_tightest(group, tasks, 1, shares);
      if (shares.size() == before) shares.push_back({room.node, tasks});
      break;
    }
    shares.push_back({room.node, tasks});
  }
  if (left > 0) return {};
  if (static_cast<std::int32_t>(shares.size()) < least) return spread_over(group, least);
  return shares;
}

std::vector<Share> Search::spread(const TaskGroup& group) const {
  std::vector<Share> shares;
  if (group.tasks_per_node > 0) {
    const std::int32_t each = std::min(group.tasks_per_node, group.tasks);
    const auto nodes = static_cast<std::size_t>(group.tasks / each);
    const std::int32_t rest = group.tasks % each;
    add_tightest(group, each, nodes, shares);
    if (shares.size() == nodes && rest > 0) add_tightest(group, rest, 1, shares);
    return shares.size() == nodes + (rest > 0 ? 1 : 0) ? shares : std::vector<Share>{};
  }
  if (group.nodes_min > 0 && group.nodes_min == group.nodes_max) {
    return spread_over(group, group.nodes_min);
  }
  return spread_freely(group);
}

void Search::take(const TaskGroup& group, std::int32_t index, Rank first_rank,
                  const std::vector<Share>& shares) {
  std::vector<Share> ordered = shares;
  std::sort(ordered.begin(), ordered.end(),
            [](const Share& a, const Share& b) { return a.node < b.node; });
  for (const Share& share : ordered) {
    FreeBooks& books = books_.try_emplace(share.node, node(share.node)).first->second;
    auto at = std::find_if(placements_.begin(), placements_.end(),
                           [&](const Placement& p) { return p.node == share.node; });
    if (at == placements_.end()) {
      at = placements_.emplace(placements_.end());
      at->node = share.node;
      at->node_rank = static_cast<std::int32_t>(placements_.size()) - 1;
    }
    grant(books, group, index, first_rank, share.tasks, policy_, *at);
    first_rank += static_cast<Rank>(share.tasks);
  }
}

std::vector<Placement> Search::finish() {
  if (spec_.exclusive) {
    for (Placement& placement : placements_) {
      grant_rest(books_.at(placement.node), placement);
    }
  }
  return std::move(placements_);
}

}  // namespace

NodeFree free_of(const Node& node) {
  NodeFree free;
  for (std::int32_t milli : node.device_free_milli) free.gpus_milli += milli;
  free.cores = static_cast<std::int64_t>(node.cores_free.size());
  free.memory_bytes = node.memory_free_bytes;
  return free;
}

bool allows(const JobSpec& spec, const Node& node) {
  for (const std::string& feature : spec.features) {
    const auto& has = node.declared.features;
    if (std::find(has.begin(), has.end(), feature) == has.end()) return false;
  }
  if (!spec.nodes_wanted.empty() && !any_hostlist_holds(spec.nodes_wanted, node.name)) return false;
  return spec.nodes_excluded.empty() || !any_hostlist_holds(spec.nodes_excluded, node.name);
}

std::optional<std::vector<Placement>> find_places(const Candidates& candidates,
                                                  const PlacementPolicy& policy,
                                                  const JobSpec& spec,
                                                  std::span<const NodeId> avoided) {
  Search search(candidates, policy, spec, avoided);
  Rank first_rank = 0;
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    const TaskGroup& group = spec.groups[i];
    const std::vector<Share> shares = search.spread(group);
    if (shares.empty()) return std::nullopt;
    search.take(group, static_cast<std::int32_t>(i), first_rank, shares);
    first_rank += static_cast<Rank>(group.tasks);
  }
  return search.finish();
}

bool could_help(const Node& node, const PlacementPolicy& policy, const JobSpec& spec) {
  if (spec.exclusive && !node.jobs.empty()) return false;
  for (const TaskGroup& group : spec.groups) {
    if (capacity(view_of(node), group, policy, 1) > 0) return true;
  }
  return false;
}

bool search_is_monotone(const JobSpec& spec) {
  if (spec.groups.size() != 1) return false;
  const Request& per_node = spec.groups.front().per_node;
  return !wants_devices(per_node);
}

}  // namespace dove::core
