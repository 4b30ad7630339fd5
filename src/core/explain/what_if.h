// WhatIf: whether a job would fit if nodes were empty, or had all of some resource free, or all
// were available. For explanations and admission; changes nothing, so it may be asked of any State.
// Must not outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
  WhatIf(const WhatIf& as_is, const Freed& freed);
  // Some of the nodes of `base`, with its books. `base` stays alive.
  WhatIf(const WhatIf& base, Nodes nodes, const Closed& closed = {});
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  const PoolNodes& pool_nodes() const { return nodes_; }
  const RankedNodes& ranked() const { return ranked_; }  // nodes to choose from
  std::size_t size() const { return ranked_.size(); }
  bool fits(const JobSpec& spec) const;
  // Where it would go.
  std::optional<std::vector<Placement>> places(const JobSpec& spec,
                                               std::span<const NodeId> avoided) const;
  // Nodes that the job's features and choice of nodes allow.
  std::vector<const Node*> matching(const JobSpec& spec) const;
  // Of those, the ones with room for a task.
  std::int64_t count_with_room(const JobSpec& spec) const;

  Candidates candidates() const;
  const Node& node(NodeId id) const { return state_.nodes[id]; }
  // What the node has free here.
  FreeView view(NodeId node) const;
  NodeFree free(NodeId node) const { return free_of(view(node)); }
  // The units that the nodes are in.
  const Domains& domains() const;

 private:
  const FreeBooks& empty_books(const Node& node);
  FreeView freed_view(const Node& node, const Freed& freed);
  const ById<NodeId, FreeView>& views() const { return base_ == nullptr ? views_ : base_->views_; }

  const State& state_;
  const PlacementPolicy& policy_;
  const PoolNodes& nodes_;
  const bool empty_;
  std::deque<std::pair<const Node*, FreeBooks>> kinds_;  // of empty nodes; by one of the kind
  std::deque<std::vector<Countable>> countables_;        // that views_ look at
  ById<NodeId, FreeView> views_;                         // empty: as the nodes say
  const WhatIf* as_is_ = nullptr;  // has the same nodes with other books; may be null
  const WhatIf* base_ = nullptr;   // has more nodes, with these books; may be null
  RankedNodes ranked_;
  mutable std::optional<Domains> domains_;  // made when it is first asked for
};

}  // namespace dove::core
