#include "core/explain/pool_nodes.h"

#include <algorithm>

#include "core/place/candidates.h"
#include "core/place/node_windows.h"
#include "core/state/books.h"
#include "core/state/findings.h"
#include "text/hostlist.h"

namespace dove::core {

PoolNodes nodes_of(const State& state, const PlacementPolicy& policy, const Pool& pool) {
  PoolNodes found;
  found.are_available.resize(state.nodes.size());
  // Removed nodes come back under another registration, if at all: not even "all nodes" has them.
  for (const Node& node : state.nodes) {
    if (node.removed || node.inventory == nullptr) continue;
    if (!text::any_hostlist_holds(pool.nodes, node.name)) continue;
    found.ids.push_back(node.id);
    found.are_available[node.id] = is_available(node);
    found.ranked.push_back({policy.rank(free_of(node)), node.id});
  }
  found.windows = windows_by_node(state);
  std::sort(found.ranked.begin(), found.ranked.end());
  return found;
}

}  // namespace dove::core
