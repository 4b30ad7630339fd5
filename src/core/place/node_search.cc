#include "core/place/node_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "core/place/lent.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

struct Share {
  NodeId node;
  std::int32_t tasks = 0;
};
using Shares = ShortList<Share, 4>;

// One search: what is allowed, and what earlier groups of the job have taken.
class Search {
 public:
  Search(const RankedNodes& ranked, const Candidates& candidates, const PlacementPolicy& policy,
         const JobSpec& spec, std::span<const NodeId> avoided)
      : ranked_(ranked),
        candidates_(candidates),
        policy_(policy),
        spec_(spec),
        avoided_(avoided),
        wants_some_(wants_some(spec)),
        executor_(executor_of(candidates, spec)) {}

  // Nodes for all tasks of the group; empty when there is no room.
  Shares spread(const TaskGroup& group) {
    Shares shares = spread_freely(group);
    return has_wanted(shares) ? shares : Shares{};
  }
  // Whether spread would find nodes.
  bool has_nodes(const TaskGroup& group) {
    // Where any number of nodes will do, room adds up: enough of it ends the search, and no node is
    // compared with the others.
    const bool adds_up = group.nodes_min <= 1 && group.nodes_max == 0 &&
                         group.tasks_per_node == 0 && spec_.spread != Spread::kSpread &&
                         !wants_some_;
    return adds_up ? room(group) == group.tasks : !spread(group).empty();
  }
  // Tasks of the group that there is room for, node by node.
  std::int64_t room(const TaskGroup& group);

  void allocate(const TaskGroup& group, std::int32_t index, Rank first_rank, Shares shares);
  std::vector<Placement> finish();

 private:
  const Node& node(NodeId id) const { return (*candidates_.nodes)[id]; }

  static const Executor* executor_of(const Candidates& candidates, const JobSpec& spec) {
    if (spec.executor.empty() || candidates.executors == nullptr) return nullptr;
    const auto found = candidates.executors->find(spec.executor);
    return found == candidates.executors->end() ? nullptr : &found->second;
  }

  FreeView free_view(NodeId id) {
    // Most jobs name no executor, so what one is lent is worked out only where it is asked for.
    if (executor_ == nullptr) return any_view(id);
    if (const FreeBooks* planned = planned_books(id)) return planned->view();
    const auto known = lent_.find(id);
    if (known != lent_.end()) return known->second.view();
    auto lent = lent_books(*executor_, node(id), candidates_.jobs, any_view(id));
    return lent ? lent_.emplace(id, std::move(*lent)).first->second.view() : any_view(id);
  }

  const FreeBooks* planned_books(NodeId id) const {
    return candidates_.free == nullptr ? nullptr : candidates_.free->books(id);
  }

  FreeView any_view(NodeId id) const {
    if (const FreeBooks* planned = planned_books(id)) return planned->view();
    return candidates_.views == nullptr ? view_of(node(id)) : (*candidates_.views)[id];
  }

  FreeView view(NodeId id) {
    const std::size_t at = place_at(id);
    return at == places_.size() ? free_view(id) : places_[at].books.view();
  }

  bool usable(NodeId id) const {
    if (candidates_.only != nullptr && !(*candidates_.only)[id]) return false;
    const Node& it = node(id);
    // Planned books know who is on the node all through the job's stay, also who comes later;
    // without them, who is there now decides.
    if (candidates_.free != nullptr) {
      if (!candidates_.free->is_open(id)) return false;
    } else if (spec_.exclusive && candidates_.jobs != nullptr && !is_idle(it)) {
      return false;
    }
    // The cheap questions first: most nodes of a search are refused by one of them.
    if (std::find(avoided_.begin(), avoided_.end(), id) != avoided_.end()) return false;
    if (candidates_.jobs != nullptr && !labels_allow(spec_, it, *candidates_.jobs)) return false;
    if (executor_ != nullptr && !is_lent(*executor_, it.name)) return false;
    return allows(spec_, it);
  }

  // Calls visit(node) for the nodes that could meet the needs, in the policy's order, spare ones
  // last, until it returns false. What is preferred among nodes is decided here.
  template <class Visit>
  void for_each_node(const NodeNeeds& needs, Visit visit) const {
    if (!wants_some_) return for_each_kind(needs, visit);
    bool goes_on = true;
    // Two passes over the nodes instead of a sort by two keys: skip() needs them in the order of
    // ranks.
    for (const bool wanted : {true, false}) {
      const auto of_kind = [&](NodeId id) {
        goes_on = is_wanted(id) != wanted || visit(id);
        return goes_on;
      };
      if (goes_on) for_each_kind(needs, of_kind);
    }
  }

  template <class Visit>
  void for_each_kind(const NodeNeeds& needs, Visit visit) const {
    if (!takes_spares()) return for_each_ranked(needs, visit);
    bool goes_on = true;
    // Spare nodes are for gangs that a bad node has stopped. Until the last they stay free for the
    // next one.
    for (const bool spare : {false, true}) {
      const auto of_kind = [&](NodeId id) {
        goes_on = candidates_.free->is_spare(id) != spare || visit(id);
        return goes_on;
      };
      if (goes_on) for_each_ranked(needs, of_kind);
    }
  }

  bool is_wanted(NodeId id) const {
    return wants_some_ && std::find(spec_.nodes_wanted.begin(), spec_.nodes_wanted.end(),
                                    node(id).name) != spec_.nodes_wanted.end();
  }
  // Whether all wanted nodes are among them, where these are not the only ones that will do.
  bool has_wanted(const Shares& shares) const {
    if (!wants_some_) return true;
    const auto found = std::count_if(shares.begin(), shares.end(),
                                     [&](const Share& share) { return is_wanted(share.node); });
    return static_cast<std::size_t>(found) == spec_.nodes_wanted.size();
  }

  bool takes_spares() const { return candidates_.free != nullptr && candidates_.spares_last; }
  bool is_spare(NodeId id) const { return takes_spares() && candidates_.free->is_spare(id); }

  template <class Visit>
  void for_each_ranked(const NodeNeeds& needs, Visit visit) const {
    // Nodes that cannot hold the needs lie in runs, since ranks begin with what is free. skip()
    // names the first rank behind such a run, and a lookup jumps there: a full cluster costs a few
    // lookups instead of a look at every node.
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    auto at = ranked_.lower_bound({policy_.skip({kLeast, kLeast, kLeast}, needs), NodeId{}});
    while (at != ranked_.end()) {
      const NodeRank next = policy_.skip(at->rank, needs);
      if (next > at->rank) {
        at = ranked_.lower_bound({next, NodeId{}});
        continue;
      }
      const NodeId id = at->node;
      ++at;
      if (usable(id) && !visit(id)) return;
    }
  }

  // Adds up to `count` nodes with room for `tasks` each, not yet in `shares`, tightest first.
  void add_tightest(const TaskGroup& group, std::int32_t tasks, std::size_t count, Shares& shares);
  // All nodes with room for a task, roomiest first, then in the policy's order. A packed job's own
  // come before all others, and spare ones last, where any number of nodes will do.
  Shares by_room(const TaskGroup& group);
  Shares spread_freely(const TaskGroup& group);
  Shares spread_over(const TaskGroup& group, std::int32_t nodes);
  Shares spread_packed(const TaskGroup& group);
  Shares spread_widely(const TaskGroup& group);

  struct Place {
    FreeBooks books;
    Placement placement;
  };

  // The index in places_ of a node that this job uses; places_.size() for others.
  std::size_t place_at(NodeId id) const {
    // A job uses few nodes, so an insertion into a short sorted list beats a tree.
    const auto at = std::lower_bound(by_node_.begin(), by_node_.end(), std::pair(id, 0u));
    return at == by_node_.end() || at->first != id ? places_.size() : at->second;
  }
  bool is_in_use(NodeId id) const { return place_at(id) < places_.size(); }
  Place& place_on(NodeId id) {
    const std::size_t at = place_at(id);
    if (at < places_.size()) return places_[at];
    const std::pair entry(id, static_cast<std::uint32_t>(places_.size()));
    by_node_.insert(std::lower_bound(by_node_.begin(), by_node_.end(), entry), entry);
    // A copy, from which each group takes: the next group sees what is left.
    Place& place = places_.emplace_back(Place{FreeBooks(free_view(id)), {}});
    place.placement.node = id;
    return place;
  }

  const RankedNodes& ranked_;
  const Candidates& candidates_;
  const PlacementPolicy& policy_;
  const JobSpec& spec_;
  std::span<const NodeId> avoided_;
  const bool wants_some_;
  const Executor* executor_;                                // that is to run it; null: no limits
  std::map<NodeId, FreeBooks> lent_;                        // to it, of nodes that were looked at
  ShortList<Place, 1> places_;                              // on nodes in use by this job
  ShortList<std::pair<NodeId, std::uint32_t>, 4> by_node_;  // ascending; index in places_
};

void Search::add_tightest(const TaskGroup& group, std::int32_t tasks, std::size_t count,
                          Shares& shares) {
  if (count == 0) return;
  std::vector<NodeId> used;
  for (const Share& share : shares) used.push_back(share.node);
  // Sorted, since a group may ask for hundreds of nodes, and every one visited is looked up here.
  std::sort(used.begin(), used.end());
  for_each_node(needs_of(group, tasks), [&](NodeId id) {
    if (std::binary_search(used.begin(), used.end(), id)) return true;
    if (capacity(view(id), group, policy_, tasks) < tasks) return true;
    shares.push_back({id, tasks});
    return --count > 0;
  });
}

Shares Search::by_room(const TaskGroup& group) {
  Shares found;
  for_each_node(needs_of(group, 1), [&](NodeId id) {
    const std::int32_t room = capacity(view(id), group, policy_, group.tasks);
    if (room > 0) found.push_back({id, room});
    return true;
  });
  // Where the number of nodes is limited, only the roomiest are sure to do.
  const bool any_number = group.nodes_max == 0;
  const bool own_first = spec_.spread == Spread::kPack && any_number && !places_.empty();
  std::stable_sort(found.begin(), found.end(), [&](const Share& a, const Share& b) {
    if (is_wanted(a.node) != is_wanted(b.node)) return is_wanted(a.node);
    if (own_first && is_in_use(a.node) != is_in_use(b.node)) return is_in_use(a.node);
    if (any_number && is_spare(a.node) != is_spare(b.node)) return is_spare(b.node);
    return a.tasks > b.tasks;
  });
  return found;
}

std::int64_t Search::room(const TaskGroup& group) {
  const std::int32_t each = std::max(std::min(group.tasks_per_node, group.tasks), 1);
  std::int64_t room = 0;
  for_each_node(needs_of(group, each), [&](NodeId id) {
    // A search for whether there is room may stop at enough; how much more there is would cost a
    // look at every node.
    const std::int32_t here = capacity(view(id), group, policy_, group.tasks);
    room += group.tasks_per_node > 0 ? (here >= each ? each : 0) : here;
    return room < group.tasks;
  });
  return std::min<std::int64_t>(room, group.tasks);
}

// Evenly if possible; each node gets a task at least.
Shares Search::spread_over(const TaskGroup& group, std::int32_t nodes) {
  // The level split on the tightest nodes keeps roomy nodes whole for others.
  // The larger shares first: whichever node can hold one could hold a smaller share, but not the
  // other way round.
  Shares shares;
  const std::int32_t each = group.tasks / nodes;
  const auto more = static_cast<std::size_t>(group.tasks % nodes);
  const auto all = static_cast<std::size_t>(nodes);
  add_tightest(group, each + 1, more, shares);
  if (shares.size() == more) {
    add_tightest(group, each, all - more, shares);
    if (shares.size() == all) return shares;
  }
  // Some node is too small for a level share: the roomiest nodes take what the others cannot. If
  // even these are too few, no set of that many nodes will do.
  shares = by_room(group);
  if (shares.size() < all) return {};
  shares.resize(all);
  std::int32_t left = group.tasks;
  std::int32_t after = nodes;
  const bool level = spec_.spread == Spread::kSpread;
  if (level) std::reverse(shares.begin(), shares.end());  // who has least room decides first
  for (Share& share : shares) {
    // Level: an equal part of what is left for each, rounded up. Packed: as much as leaves one task
    // for each of those that follow.
    const std::int32_t part = level ? (left + after - 1) / after : left - (after - 1);
    --after;
    share.tasks = std::min(share.tasks, part);
    left -= share.tasks;
  }
  return left == 0 ? shares : Shares{};
}

// On as few nodes as possible: the last one is the tightest that holds what is left.
Shares Search::spread_packed(const TaskGroup& group) {
  const std::int32_t least = std::max(group.nodes_min, 1);
  const std::int32_t most = group.nodes_max > 0 ? group.nodes_max : group.tasks;
  Shares shares;
  const bool beside = spec_.spread == Spread::kPack && !places_.empty();
  if (least == 1 && !beside) {
    // Everything on one node, the tightest that will do, needs no list of all the others by room.
    add_tightest(group, group.tasks, 1, shares);
    if (!shares.empty() || group.tasks == 1) return shares;
  }
  std::int32_t left = group.tasks;
  // The roomiest first makes for the fewest nodes. What is left for the last node may fit on one
  // that is tighter, which spares the roomy one.
  for (const Share& room : by_room(group)) {
    // Not more than `most` nodes: what is left then has no place, which is refused below.
    if (left == 0 || static_cast<std::int32_t>(shares.size()) == most) break;
    const std::int32_t tasks = std::min(room.tasks, left);
    left -= tasks;
    if (left == 0) {
      const std::size_t before = shares.size();
      if (!beside || !is_in_use(room.node)) add_tightest(group, tasks, 1, shares);
      if (shares.size() == before) shares.push_back({room.node, tasks});
      break;
    }
    shares.push_back({room.node, tasks});
  }
  if (left > 0) return {};
  // Packing took fewer nodes than the job asks for at least.
  if (static_cast<std::int32_t>(shares.size()) < least) return spread_over(group, least);
  return shares;
}

// On as many nodes as possible.
Shares Search::spread_widely(const TaskGroup& group) {
  // A node without room for one task would make the level share fail, so only those with room are
  // counted.
  const auto rooms = static_cast<std::int32_t>(by_room(group).size());
  const std::int32_t most = group.nodes_max > 0 ? group.nodes_max : group.tasks;
  const std::int32_t nodes = std::min({group.tasks, most, rooms});
  if (nodes < std::max(group.nodes_min, 1)) return {};
  return spread_over(group, nodes);
}

Shares Search::spread_freely(const TaskGroup& group) {
  Shares shares;
  if (group.tasks_per_node > 0) {
    const std::int32_t each = std::min(group.tasks_per_node, group.tasks);
    const auto nodes = static_cast<std::size_t>(group.tasks / each);
    // The remainder gets a node of its own: every node that holds a full share is full as far as
    // the job's shape goes.
    const std::int32_t rest = group.tasks % each;
    add_tightest(group, each, nodes, shares);
    if (shares.size() == nodes && rest > 0) add_tightest(group, rest, 1, shares);
    return shares.size() == nodes + (rest > 0 ? 1 : 0) ? shares : Shares{};
  }
  if (group.nodes_min > 0 && group.nodes_min == group.nodes_max) {
    return spread_over(group, group.nodes_min);
  }
  return spec_.spread == Spread::kSpread ? spread_widely(group) : spread_packed(group);
}

void Search::allocate(const TaskGroup& group, std::int32_t index, Rank first_rank, Shares shares) {
  // Ranks follow the topology, so that neighbours in rank, which talk most (rings, pipelines), are
  // neighbours on the network.
  std::sort(shares.begin(), shares.end(), [&](const Share& a, const Share& b) {
    return before_in_tree(node(a.node), node(b.node));
  });
  for (const Share& share : shares) {
    Place& place = place_on(share.node);
    grant(place.books, group, index, first_rank, share.tasks, policy_, place.placement);
    first_rank += static_cast<Rank>(share.tasks);
  }
}

// Groups may have been placed in any order: tasks and nodes are put in order of rank.
std::vector<Placement> Search::finish() {
  std::vector<Placement> placements;
  placements.reserve(places_.size());
  for (Place& place : places_) {
    grant_along(place.books, spec_.exclusive, place.placement);
    placements.push_back(std::move(place.placement));
    std::vector<TaskGrant>& tasks = placements.back().tasks;
    std::sort(tasks.begin(), tasks.end(),
              [](const TaskGrant& a, const TaskGrant& b) { return a.rank < b.rank; });
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].local_rank = static_cast<std::int32_t>(i);
    }
  }
  std::sort(placements.begin(), placements.end(), [](const Placement& a, const Placement& b) {
    return a.tasks.front().rank < b.tasks.front().rank;
  });
  for (std::size_t i = 0; i < placements.size(); ++i) {
    placements[i].node_rank = static_cast<std::int32_t>(i);
  }
  return placements;
}

Rank first_rank(const JobSpec& spec, std::size_t group) {
  Rank rank = 0;
  for (std::size_t i = 0; i < group; ++i) rank += static_cast<Rank>(spec.groups[i].tasks);
  return rank;
}

// Those that are hardest to place first.
std::vector<std::size_t> hardest_first(const JobSpec& spec) {
  std::vector<std::size_t> order(spec.groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto weight = [&](std::size_t i) {
      const TaskGroup& group = spec.groups[i];
      const NodeNeeds needs = needs_of(group, std::max(group.tasks_per_node, 1));
      return std::tuple(needs.gpus_milli, needs.cores, needs.memory_bytes);
    };
    return weight(a) > weight(b);
  });
  return order;
}

// The groups in this order; in none: as they are listed.
std::optional<std::vector<Placement>> place_groups(Search search, const JobSpec& spec,
                                                   std::span<const std::size_t> order,
                                                   bool only_whether) {
  for (std::size_t k = 0; k < spec.groups.size(); ++k) {
    const std::size_t i = order.empty() ? k : order[k];
    if (only_whether && k + 1 == spec.groups.size()) {
      if (!search.has_nodes(spec.groups[i])) return std::nullopt;
      return std::vector<Placement>{};
    }
    Shares shares = search.spread(spec.groups[i]);
    if (shares.empty()) return std::nullopt;
    search.allocate(spec.groups[i], static_cast<std::int32_t>(i), first_rank(spec, i),
                    std::move(shares));
  }
  return search.finish();
}

}  // namespace

std::optional<std::vector<Placement>> find_places_among(const RankedNodes& ranked,
                                                        const Candidates& candidates,
                                                        const PlacementPolicy& policy,
                                                        const JobSpec& spec,
                                                        std::span<const NodeId> avoided) {
  // Most jobs fit in the order in which their groups are listed, and ranks then follow it. An easy
  // group may have taken the only room of a hard one: then that one goes first.
  const Search search(ranked, candidates, policy, spec, avoided);
  auto found = place_groups(search, spec, {}, candidates.only_whether);
  if (!found && spec.groups.size() > 1) {
    found = place_groups(search, spec, hardest_first(spec), candidates.only_whether);
  }
  return found;
}

std::int64_t room_among(const RankedNodes& ranked, const Candidates& candidates,
                        const PlacementPolicy& policy, const JobSpec& spec, const TaskGroup& group,
                        std::span<const NodeId> avoided) {
  return Search(ranked, candidates, policy, spec, avoided).room(group);
}

}  // namespace dove::core
