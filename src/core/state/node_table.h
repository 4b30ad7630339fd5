// NodeTable: all nodes, by id and by name.
//
// Ids are dense and never reused, and a node keeps its name. The index by name therefore only
// grows. It follows from the nodes, and is neither stored nor hashed.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/state/node.h"
#include "model/by_id.h"
#include "model/ids.h"

namespace dove::core {

class NodeTable {
 public:
  using Nodes = ById<NodeId, Node>;

  // REQUIRES: holds(id). Whoever changes a node leaves its name as it is.
  Node& operator[](NodeId id) { return nodes_[id]; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  bool holds(NodeId id) const { return nodes_.holds(id); }
  // The node of that name; null when there is none. Takes the logarithm of their number.
  const Node* find(std::string_view name) const;
  Node* find(std::string_view name);

  std::size_t size() const { return nodes_.size(); }
  bool empty() const { return nodes_.empty(); }
  auto begin() { return nodes_.begin(); }
  auto begin() const { return nodes_.begin(); }
  auto end() { return nodes_.end(); }
  auto end() const { return nodes_.end(); }
  Node& front() { return nodes_.front(); }
  const Node& front() const { return nodes_.front(); }
  Node& back() { return nodes_.back(); }
  const Node& back() const { return nodes_.back(); }

  // The new node gets the id after the last.
  void push_back(Node node);
  void clear();

  operator const Nodes&() const { return nodes_; }
  const Nodes& by_id() const { return nodes_; }

 private:
  // Where `name` is, or would be, in by_name_.
  std::vector<NodeId>::const_iterator place(std::string_view name) const;

  Nodes nodes_;
  std::vector<NodeId> by_name_;  // ascending by name
};

}  // namespace dove::core
