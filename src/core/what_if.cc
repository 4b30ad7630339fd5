#include "core/what_if.h"

#include <algorithm>

#include "core/books.h"
#include "core/derived.h"
#include "core/hostlist.h"

namespace dove::core {
namespace {

// Whether both have the same free when nothing runs there.
bool same_kind(const Node& a, const Node& b) {
  return a.inventory == b.inventory && a.declared.cores_reserved == b.declared.cores_reserved &&
         a.declared.memory_reserved_bytes == b.declared.memory_reserved_bytes &&
         a.declared.countables == b.declared.countables;
}

}  // namespace

WhatIf::WhatIf(const State& state, const PlacementPolicy& policy, const Pool& pool, Books books,
               Nodes nodes)
    : state_(state), policy_(policy), empty_(books == Books::kEmpty) {
  if (empty_) views_.resize(state.nodes.size());
  for (const Node& node : state.nodes) {
    if (node.removed || node.inventory == nullptr) continue;
    if (nodes == Nodes::kAvailable && !is_available(node)) continue;
    if (!any_hostlist_holds(pool.nodes, node.name)) continue;
    if (empty_) views_[node.id.value - 1] = empty_books(node).view();
    ranked_.insert({policy.rank(free(node.id)), node.id});
  }
}

const FreeBooks& WhatIf::empty_books(const Node& node) {
  constexpr std::size_t kKinds_looked_at = 16;
  std::size_t looked_at = 0;
  for (auto kind = kinds_.rbegin(); kind != kinds_.rend() && looked_at < kKinds_looked_at;
       ++kind, ++looked_at) {
    if (same_kind(*kind->first, node)) return kind->second;
  }
  Node empty = node;
  empty.jobs.clear();
  rebuild_books(state_, empty);
  kinds_.emplace_back(&node, FreeBooks(empty));
  return kinds_.back().second;
}

FreeView WhatIf::view(NodeId node) const {
  return empty_ ? views_[node.value - 1] : view_of(state_.nodes[node.value - 1]);
}

Candidates WhatIf::candidates() const {
  Candidates all;
  all.ranked = &ranked_;
  all.nodes = &state_.nodes;
  if (empty_) {
    all.views = &views_;
  } else {
    all.jobs = &state_.jobs;
  }
  return all;
}

const Domains& WhatIf::domains() const {
  if (!domains_) {
    domains_.emplace();
    std::vector<NodeEntry> entries(ranked_.begin(), ranked_.end());
    std::sort(entries.begin(), entries.end(),
              [](const NodeEntry& a, const NodeEntry& b) { return a.node < b.node; });
    for (const NodeEntry& entry : entries) {
      domains_->put(node(entry.node), entry.rank, free(entry.node));
    }
  }
  return *domains_;
}

bool WhatIf::fits(const JobSpec& spec) const {
  Candidates all = candidates();
  all.only_whether = true;
  if (!spec.domain.empty()) all.domains = &domains();
  return find_places(all, policy_, spec, {}).has_value();
}

std::vector<const Node*> WhatIf::matching(const JobSpec& spec) const {
  std::vector<const Node*> found;
  for (const NodeEntry& entry : ranked_) {
    const Node& node = state_.nodes[entry.node.value - 1];
    if (allows(spec, node)) found.push_back(&node);
  }
  return found;
}

std::int64_t WhatIf::count_with_room(const JobSpec& spec) const {
  std::int64_t count = 0;
  for (const Node* node : matching(spec)) {
    if (spec.exclusive && !empty_ && !node->jobs.empty()) continue;
    for (const TaskGroup& group : spec.groups) {
      if (capacity(view(node->id), group, policy_, 1) == 0) continue;
      ++count;
      break;
    }
  }
  return count;
}

}  // namespace dove::core
