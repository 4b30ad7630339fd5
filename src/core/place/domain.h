// Domains: the tree of units (switches, racks, NVLink domains) that contain the nodes, with the sum
// of what is free below each. "Could it fit under this switch" is answered without visiting nodes.
//
// Administrators declare the levels and units of each node, widest first
// (NodeDeclaration::topology). A unit is identified by its name and the names above it. It holds
// only what it is given, in any order: equal contents give equal answers. Used from one thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/collections/ordered_set.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

struct NodeEntry {
  NodeRank rank = {};
  NodeId node;
  auto operator<=>(const NodeEntry&) const = default;
};
using RankedNodes = OrderedSet<NodeEntry>;

NodeFree free_of(const Node& node);

// Whether `sum` is at least `needs` in every part.
bool covers(const NodeFree& sum, const NodeNeeds& needs);

class Domains {
 public:
  struct Unit {
    std::string level;
    std::string path;           // "pod1/rack2": for people, and where nothing else decides
    std::int32_t parent = -1;   // index; -1: none
    NodeFree free;              // of its nodes together
    std::vector<NodeId> nodes;  // ascending
    // How many of its nodes have that many GPUs free, or more in the last place.
    std::array<std::int32_t, 16> by_gpus = {};
  };

  // Adds an available node, or says where it is now and what it has free.
  void put(const Node& node, const NodeRank& rank, const NodeFree& free);
  // What the node has free now, if it is in a unit.
  void update(NodeId node, const NodeRank& rank, const NodeFree& free);
  // The node is not available any more.
  void drop(NodeId node);

  const Unit& unit(std::int32_t index) const { return units_[static_cast<std::size_t>(index)]; }
  // Its nodes that have at least this much free, as a search wants them.
  RankedNodes ranked(std::int32_t index, const NodeNeeds& least) const;
  // Units of the level that have a node, the one with the least free first: GPUs, then cores, then
  // memory, then by path.
  std::vector<std::int32_t> tightest_first(std::string_view level) const;
  // Likewise, but only those where some node may have that much free.
  std::vector<std::int32_t> tightest_with(std::string_view level, const NodeNeeds& least) const;
  // The units above these units of a level, nearest first: one list for each step up, the tightest
  // first.
  std::vector<std::vector<std::int32_t>> above(std::vector<std::int32_t> units) const;
  // Whether there have been units of the level.
  bool has_level(std::string_view level) const { return by_level_.contains(level); }
  // The unit of the level that the node is in; -1: none.
  std::int32_t unit_with(NodeId node, std::string_view level) const;
  // The level of the widest units; "" without any.
  std::string widest() const;

 private:
  struct Member {
    std::int32_t unit = -1;  // the narrowest; -1: the node is not available
    NodeRank rank = {};
    NodeFree free;
  };

  std::int32_t unit_of(const std::vector<TopologyUnit>& topology);
  void order(std::vector<std::int32_t>& units) const;
  void count(const Member& member, int sign);

  std::vector<Unit> units_;
  std::vector<TopologyUnit> last_;  // asked for, and where it is: neighbours often follow
  std::int32_t last_unit_ = -1;
  std::map<std::pair<std::int32_t, std::pair<std::string, std::string>>, std::int32_t> index_;
  std::map<std::string, std::vector<std::int32_t>, std::less<>> by_level_;
  ById<NodeId, Member> members_;
};

// Whether `a` comes before `b` along the tree: neighbours in this order are neighbours in it.
bool before_in_tree(const Node& a, const Node& b);

}  // namespace dove::core
