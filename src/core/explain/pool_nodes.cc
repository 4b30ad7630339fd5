#include "core/explain/pool_nodes.h"

#include <algorithm>

#include "core/place/node_windows.h"
#include "core/state/findings.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

bool is_known(const Node& node) { return !node.removed && node.inventory != nullptr; }

void set_available(PoolNodes& nodes, NodeId id, bool available) {
  if (nodes.are_available[id] == available) return;
  nodes.are_available[id] = available;
  available ? ++nodes.available : --nodes.available;
}

}  // namespace

PoolNodes nodes_of(const State& state, const Pool& pool) {
  PoolNodes found;
  found.are_members.resize(state.nodes.size());
  found.are_available.resize(state.nodes.size());
  for (const Node& node : state.nodes) update(found, pool, node);
  found.windows = windows_by_node(state);
  return found;
}

void update(PoolNodes& nodes, const Pool& pool, const Node& node) {
  const bool was = nodes.are_members[node.id];
  // Names and pools stay: a member leaves only with its node. Removed nodes come back under another
  // registration, if at all: not even "all nodes" has them.
  const bool is = is_known(node) && (was || text::any_hostlist_holds(pool.nodes, node.name));
  if (is != was) {
    const auto at = std::lower_bound(nodes.ids.begin(), nodes.ids.end(), node.id);
    is ? void(nodes.ids.insert(at, node.id)) : void(nodes.ids.erase(at));
    nodes.are_members[node.id] = is;
  }
  set_available(nodes, node.id, is && is_available(node));
}

}  // namespace dove::core
