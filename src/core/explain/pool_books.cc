#include "core/explain/pool_books.h"

#include <algorithm>

#include "base/check.h"
#include "core/place/node_windows.h"

namespace dove::core {

PoolBooks::PoolBooks(const State& state, const PlacementPolicy& policy, const Pool& pool)
    : state_(state), pool_(pool), nodes_(nodes_of(state, pool)) {
  variants_.push_back({{}, std::make_unique<WhatIf>(state, policy, nodes_), nullptr});
}

PoolBooks::Variant& PoolBooks::variant(const Freed& freed) {
  CHECK(freed.countables.empty(), "books with free countables are not kept");
  const auto known = std::find_if(variants_.begin(), variants_.end(),
                                  [&](const Variant& one) { return one.freed == freed; });
  if (known != variants_.end()) return *known;
  // There are at most nine: all, and each choice of three resources.
  variants_.push_back({freed, std::make_unique<WhatIf>(all(), freed), nullptr});
  return variants_.back();
}

WhatIf& PoolBooks::all(const Freed& freed) { return *variant(freed).all; }

WhatIf& PoolBooks::available(const Freed& freed) {
  Variant& it = variant(freed);
  if (it.available == nullptr) {
    it.available = std::make_unique<WhatIf>(*it.all, WhatIf::Nodes::kAvailable);
  }
  return *it.available;
}

void PoolBooks::update(NodeId node) {
  core::update(nodes_, pool_, state_.nodes[node]);
  for (const Variant& one : variants_) {
    one.all->update(node);
    if (one.available != nullptr) one.available->update(node);
  }
  std::erase_if(variants_, [](const Variant& one) { return one.all->is_worn(); });
}

void PoolBooks::update_windows() { nodes_.windows = windows_by_node(state_); }

}  // namespace dove::core
