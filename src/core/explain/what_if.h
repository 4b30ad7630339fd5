// WhatIf: whether a job would fit if nodes were empty, or had all of some resource free, or all
// were available. For explanations. It never changes the State and must not outlive it. Lists that
// most questions do not need are made when they are first asked for, so one thread uses it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/explain/node_choice.h"
#include "core/explain/pool_nodes.h"
#include "core/place/place.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

// Resources of which every node has free what it has when nothing runs there.
struct Freed {
  bool all = false;  // and nobody is on the nodes either
  bool cores = false;
  bool memory = false;
  bool devices = false;
  std::vector<std::string> countables = {};  // names, ascending
  bool operator==(const Freed&) const = default;
};

class WhatIf {
 public:
  enum class Nodes { kAvailable, kAll };  // all: but not the removed ones

  // Those that are not to be used; short ones leave out none of the rest.
  using Closed = ById<NodeId, bool>;

  // All of the nodes, which must stay, with the books that they have.
  WhatIf(const State& state, const PlacementPolicy& policy, const PoolNodes& nodes);
  // The same with other books. `as_is` stays alive.
  WhatIf(WhatIf& as_is, const Freed& freed);
  // Some of the nodes of `base`, with its books, as they are now. `base` stays alive.
  WhatIf(WhatIf& base, Nodes nodes, const Closed& closed = {});
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  // A node has changed: after the PoolNodes, and after what this was made from. REQUIRES: no node
  // was closed, no countable is free, and the node was there when this was made.
  void update(NodeId node);
  // Nodes have become others so often that it is better made anew.
  bool is_worn() const { return kinds_.size() > 2 * nodes_.ids.size() + 64; }

  const PoolNodes& pool_nodes() const { return nodes_; }
  const RankedNodes& ranked();  // nodes to choose from; a part makes the list when asked
  std::size_t size() const { return base_ == nullptr ? ranked_->size() : part_size_; }
  bool fits(const JobSpec& spec);
  // Where it would go.
  std::optional<std::vector<Placement>> places(const JobSpec& spec,
                                               std::span<const NodeId> avoided);
  // Calls visit(node) for each of these, in the policy's order.
  template <class Visit>
  void each(Visit visit) const {
    for (const NodeEntry& entry : all_ranked()) {
      if (base_ == nullptr || are_in_[entry.node]) visit(entry.node);
    }
  }
  // Nodes that the job may use.
  std::vector<const Node*> matching(NodeChoice& choice) const;
  // The number of those with room for a task.
  std::int64_t count_with_room(NodeChoice& choice) const;

  Candidates candidates() const;
  const Node& node(NodeId id) const { return state_.nodes[id]; }
  // What the node has free here.
  FreeView view(NodeId node) const;
  // The same in sums, which are kept: no node is looked at.
  const NodeFree& free(NodeId node) const {
    return base_ == nullptr ? free_[node] : base_->free_[node];
  }
  // The units that the nodes are in.
  const Domains& domains();

 private:
  // What nodes have free when nothing runs there, if all this is equal.
  struct Kind {
    explicit Kind(const Node& node);
    bool operator==(const Kind&) const = default;

    std::shared_ptr<const Inventory> inventory;
    std::int32_t cores_reserved;
    std::int64_t memory_reserved_bytes;
    std::vector<Countable> countables;
    bool whole_cores;
    std::vector<std::int32_t> devices_closed;  // by findings
  };
  struct EmptyBooks {
    Kind kind;
    FreeBooks books;
  };

  // Whether the node is one of these, as the PoolNodes say now.
  bool includes(NodeId id) const {
    return only_available_ ? nodes_.are_available[id] : nodes_.are_members[id];
  }
  const RankedNodes& all_ranked() const { return base_ == nullptr ? *ranked_ : *base_->ranked_; }
  void update_part(NodeId id);
  void rank_all();
  const FreeBooks& empty_books(const Node& node);
  FreeView freed_view(const Node& node);
  const ById<NodeId, FreeView>& views() const { return base_ == nullptr ? views_ : base_->views_; }

  const State& state_;
  const PlacementPolicy& policy_;
  const PoolNodes& nodes_;
  const std::optional<Freed> freed_;  // none: as the nodes say
  const bool empty_;
  const bool only_available_ = false;
  std::deque<EmptyBooks> kinds_;
  ById<NodeId, const EmptyBooks*> kind_of_;        // null: not looked for yet
  std::deque<std::vector<Countable>> countables_;  // that views_ look at
  ById<NodeId, FreeView> views_;                   // empty: as the nodes say
  ById<NodeId, NodeFree> free_;                    // of all nodes; empty: it is a part
  ById<NodeId, NodeRank> ranks_;                   // of those in ranked_; empty: it is a part
  ById<NodeId, bool> are_in_;                      // of a part: whether it has the node
  std::size_t part_size_ = 0;
  WhatIf* as_is_ = nullptr;  // has the same nodes with other books; may be null
  WhatIf* base_ = nullptr;   // has more nodes, with these books; may be null
  // Made when they are first asked for, which most explanations never do.
  std::optional<RankedNodes> ranked_;  // of a part; else always there
  std::optional<Domains> domains_;
};

}  // namespace dove::core
