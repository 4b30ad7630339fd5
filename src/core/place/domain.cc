#include "core/place/domain.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>

namespace dove::core {
namespace {

void add(NodeFree& sum, const NodeFree& free, int sign) {
  sum.gpus_milli += sign * free.gpus_milli;
  sum.cores += sign * free.cores;
  sum.memory_bytes += sign * free.memory_bytes;
}

// In Domains::Unit::by_gpus.
std::size_t place_of(std::int64_t gpus_milli) {
  constexpr std::int64_t kLast = std::tuple_size_v<decltype(Domains::Unit::by_gpus)> - 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(gpus_milli / 1000, 0, kLast));
}

auto amounts(const NodeFree& free) {
  return std::tie(free.gpus_milli, free.cores, free.memory_bytes);
}

}  // namespace

NodeFree free_of(const Node& node) {
  NodeFree free;
  for (std::int32_t milli : node.device_free_milli) free.gpus_milli += milli;
  free.cores = static_cast<std::int64_t>(node.cores_free.size());
  free.memory_bytes = node.memory_free_bytes;
  return free;
}

bool covers(const NodeFree& sum, const NodeNeeds& needs) {
  return sum.gpus_milli >= needs.gpus_milli && sum.cores >= needs.cores &&
         sum.memory_bytes >= needs.memory_bytes;
}

std::int32_t Domains::unit_of(const std::vector<TopologyUnit>& topology) {
  // Nodes of one rack are declared and changed one after another: the same path is often asked for
  // twice.
  if (last_unit_ >= 0 && topology == last_) return last_unit_;
  std::int32_t at = -1;
  for (const TopologyUnit& each : topology) {
    const auto [found, made] =
        // By parent as well as by name: rack 1 of one pod is not rack 1 of another.
        index_.try_emplace({at, {each.level, each.name}}, static_cast<std::int32_t>(units_.size()));
    if (made) {
      Unit unit;
      unit.level = each.level;
      unit.path = at < 0 ? each.name : this->unit(at).path + "/" + each.name;
      unit.parent = at;
      units_.push_back(std::move(unit));
      by_level_[each.level].push_back(found->second);
    }
    at = found->second;
  }
  last_ = topology;
  last_unit_ = at;
  return at;
}

void Domains::put(const Node& node, const NodeRank& rank, const NodeFree& free) {
  // It may have been in another unit, or have had another sum. To take it out first makes both
  // cases one.
  drop(node.id);
  // Without a topology it belongs to no unit, and only searches of all nodes see it.
  if (node.declared.topology.empty()) return;
  members_.reach(node.id);
  Member& member = members_[node.id];
  member.unit = unit_of(node.declared.topology);
  // All the way up: each unit holds the sum and the nodes of everything below it.
  for (std::int32_t at = member.unit; at >= 0; at = unit(at).parent) {
    std::vector<NodeId>& nodes = units_[static_cast<std::size_t>(at)].nodes;
    nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), node.id), node.id);
  }
  count(member, +1);
  update(node.id, rank, free);
}

// Units are a handful of levels deep, so a change costs a few additions, and a search none.
void Domains::count(const Member& member, int sign) {
  for (std::int32_t at = member.unit; at >= 0; at = unit(at).parent) {
    Unit& each = units_[static_cast<std::size_t>(at)];
    add(each.free, member.free, sign);
    each.by_gpus[place_of(member.free.gpus_milli)] += sign;
  }
}

void Domains::update(NodeId node, const NodeRank& rank, const NodeFree& free) {
  if (!members_.holds(node)) return;
  Member& member = members_[node];
  if (member.unit < 0) return;
  count(member, -1);
  member.rank = rank;
  member.free = free;
  count(member, +1);
}

void Domains::drop(NodeId node) {
  if (!members_.holds(node)) return;
  Member& member = members_[node];
  count(member, -1);
  for (std::int32_t at = member.unit; at >= 0; at = unit(at).parent) {
    Unit& each = units_[static_cast<std::size_t>(at)];
    each.nodes.erase(std::lower_bound(each.nodes.begin(), each.nodes.end(), node));
    // The unit stays, empty: its index is held by others, and nodes come back.
  }
  member = {};
}

RankedNodes Domains::ranked(std::int32_t index, const NodeNeeds& least) const {
  RankedNodes entries;
  if (!covers(unit(index).free, least)) return entries;
  for (NodeId node : unit(index).nodes) {
    // What the sum allows, nodes may not: only those that can hold a task at least are worth
    // ranking.
    const Member& member = members_[node];
    if (covers(member.free, least)) entries.insert({member.rank, node});
  }
  return entries;
}

void Domains::order(std::vector<std::int32_t>& units) const {
  // An emptied unit would be the tightest of all.
  std::erase_if(units, [&](std::int32_t at) { return unit(at).nodes.empty(); });
  // A total order: amounts first, and the path where they are equal, so that the order in which
  // nodes joined does not matter.
  std::sort(units.begin(), units.end(), [&](std::int32_t a, std::int32_t b) {
    const Unit& one = unit(a);
    const Unit& two = unit(b);
    if (amounts(one.free) != amounts(two.free)) return amounts(one.free) < amounts(two.free);
    return one.path < two.path;
  });
}

std::vector<std::int32_t> Domains::tightest_first(std::string_view level) const {
  const auto found = by_level_.find(level);
  if (found == by_level_.end()) return {};
  std::vector<std::int32_t> units = found->second;
  order(units);
  return units;
}

std::vector<std::int32_t> Domains::tightest_with(std::string_view level,
                                                 const NodeNeeds& least) const {
  const auto found = by_level_.find(level);
  if (found == by_level_.end()) return {};
  std::vector<std::int32_t> units;
  // In a full cluster nearly all are left out, by the counts alone.
  for (const std::int32_t at : found->second) {
    const auto& counts = unit(at).by_gpus;
    const auto from = counts.begin() + static_cast<std::ptrdiff_t>(place_of(least.gpus_milli));
    if (std::any_of(from, counts.end(), [](std::int32_t nodes) { return nodes > 0; }) &&
        covers(unit(at).free, least)) {
      units.push_back(at);
    }
  }
  order(units);
  return units;
}

std::vector<std::vector<std::int32_t>> Domains::above(std::vector<std::int32_t> units) const {
  std::vector<std::vector<std::int32_t>> steps;
  // Levels may be uneven: some nodes name a rack only, others a pod and a rack. The walk ends when
  // all of them are at their tops, and units that are there already drop out.
  while (true) {
    std::set<std::int32_t> parents;
    for (std::int32_t at : units) {
      if (unit(at).parent >= 0) parents.insert(unit(at).parent);
    }
    if (parents.empty()) return steps;
    units.assign(parents.begin(), parents.end());
    order(units);
    steps.push_back(units);
  }
}

std::int32_t Domains::unit_with(NodeId node, std::string_view level) const {
  if (!members_.holds(node)) return -1;
  std::int32_t at = members_[node].unit;
  while (at >= 0 && unit(at).level != level) at = unit(at).parent;
  return at;
}

std::string Domains::widest() const {
  const Unit* first = nullptr;
  for (const Unit& unit : units_) {
    if (unit.parent >= 0 || unit.nodes.empty()) continue;
    if (first == nullptr || unit.path < first->path) first = &unit;
  }
  return first == nullptr ? "" : first->level;
}

bool before_in_tree(const Node& a, const Node& b) {
  const auto& one = a.declared.topology;
  const auto& two = b.declared.topology;
  for (std::size_t i = 0; i < one.size() && i < two.size(); ++i) {
    if (one[i].name != two[i].name) return one[i].name < two[i].name;
    if (one[i].level != two[i].level) return one[i].level < two[i].level;
  }
  if (one.size() != two.size()) return one.size() < two.size();
  return a.id < b.id;
}

}  // namespace dove::core
