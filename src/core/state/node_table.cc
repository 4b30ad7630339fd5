#include "core/state/node_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dove::core {

std::vector<NodeId>::const_iterator NodeTable::place(std::string_view name) const {
  return std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](NodeId id, std::string_view than) { return nodes_[id].name < than; });
}

const Node* NodeTable::find(std::string_view name) const {
  const auto at = place(name);
  return at != by_name_.end() && nodes_[*at].name == name ? &nodes_[*at] : nullptr;
}

Node* NodeTable::find(std::string_view name) {
  const auto at = place(name);
  return at != by_name_.end() && nodes_[*at].name == name ? &nodes_[*at] : nullptr;
}

void NodeTable::push_back(Node node) {
  const auto at = place(node.name);
  by_name_.insert(at, NodeId(static_cast<std::uint32_t>(nodes_.size() + 1)));
  nodes_.push_back(std::move(node));
}

void NodeTable::clear() { *this = NodeTable(); }

}  // namespace dove::core
