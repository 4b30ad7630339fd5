// An entry of an ordered set that changes its place there keeps its memory.
#pragma once

#include <optional>
#include <utility>

namespace dove::core {

// Moves what stands in the set as `before`, if it does, to `now`; nothing: it is not to be there.
template <class Set>
void move_in(Set& set, const std::optional<typename Set::key_type>& before,
             const std::optional<typename Set::key_type>& now) {
  typename Set::node_type node;
  if (before) {
    const auto at = set.find(*before);
    if (at != set.end()) {
      if (before == now) return;
      node = set.extract(at);
    }
  }
  if (!now) return;
  if (node.empty()) {
    set.insert(*now);
  } else {
    node.value() = *now;
    set.insert(std::move(node));
  }
}

}  // namespace dove::core
