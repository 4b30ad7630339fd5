#include "core/what_if.h"

#include "core/books.h"
#include "core/derived.h"
#include "core/hostlist.h"

namespace dove::core {

WhatIf::WhatIf(const State& state, const PlacementPolicy& policy, const Pool& pool, Books books,
               Nodes nodes)
    : policy_(policy), nodes_(state.nodes) {
  for (Node& node : nodes_) {
    if (node.removed || node.inventory == nullptr) continue;
    if (nodes == Nodes::kAvailable && !is_available(node)) continue;
    if (!any_hostlist_holds(pool.nodes, node.name)) continue;
    if (books == Books::kEmpty) {
      node.jobs.clear();
      rebuild_books(state, node);
    }
    ranked_.insert({policy.rank(free_of(node)), node.id});
  }
}

bool WhatIf::fits(const JobSpec& spec) const {
  return find_places({&ranked_, &nodes_}, policy_, spec, {}).has_value();
}

std::vector<const Node*> WhatIf::matching(const JobSpec& spec) const {
  std::vector<const Node*> found;
  for (const NodeEntry& entry : ranked_) {
    const Node& node = nodes_[entry.node.value - 1];
    if (allows(spec, node)) found.push_back(&node);
  }
  return found;
}

std::int64_t WhatIf::count_with_room(const JobSpec& spec) const {
  std::int64_t count = 0;
  for (const Node* node : matching(spec)) count += could_help(*node, policy_, spec) ? 1 : 0;
  return count;
}

}  // namespace dove::core
