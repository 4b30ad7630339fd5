#include "core/explain/what_if.h"

#include <algorithm>

#include "base/check.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

// Whether both have the same free when nothing runs there.
bool same_kind(const Node& a, const Node& b) {
  // Inventories are shared and never changed in place. Nodes that do not share theirs are each a
  // kind: slower, never wrong.
  return a.inventory == b.inventory && a.declared.cores_reserved == b.declared.cores_reserved &&
         a.declared.memory_reserved_bytes == b.declared.memory_reserved_bytes &&
         a.declared.countables == b.declared.countables;
}

}  // namespace

WhatIf::WhatIf(const State& state, const PlacementPolicy& policy, const PoolNodes& nodes)
    : state_(state),
      policy_(policy),
      nodes_(nodes),
      empty_(false),
      ranked_(nodes.ranked.begin(), nodes.ranked.end()) {}

WhatIf::WhatIf(const WhatIf& as_is, const Freed& freed)
    : state_(as_is.state_),
      policy_(as_is.policy_),
      nodes_(as_is.nodes_),
      empty_(freed.all),
      as_is_(&as_is) {
  views_.resize(state_.nodes.size());
  std::vector<NodeEntry> entries;
  entries.reserve(nodes_.ids.size());
  for (const NodeId id : nodes_.ids) {
    const Node& node = state_.nodes[id];
    views_[id] = freed.all ? empty_books(node).view() : freed_view(node, freed);
    // Ranked by the books that are asked about, not by those of now: the policy's order has to be
    // that of a launch on such nodes.
    entries.push_back({policy_.rank(free(id)), id});
  }
  // Nodes mostly come in the order of their ranks on an idle cluster, so it is worth a look before
  // the sort.
  if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
  ranked_ = {entries.begin(), entries.end()};
}

// A node's rank depends on its books alone, so a part of ranked nodes needs no sort.
WhatIf::WhatIf(const WhatIf& base, Nodes nodes, const Closed& closed)
    : state_(base.state_),
      policy_(base.policy_),
      nodes_(base.nodes_),
      empty_(base.empty_),
      base_(&base) {
  CHECK(base.base_ == nullptr, "the base has all of the nodes");
  std::vector<NodeEntry> entries;
  entries.reserve(base.size());
  for (const NodeEntry& entry : base.ranked_) {
    if (nodes == Nodes::kAvailable && !nodes_.are_available[entry.node]) continue;
    if (closed.holds(entry.node) && closed[entry.node]) continue;
    entries.push_back(entry);
  }
  ranked_ = {entries.begin(), entries.end()};
}

const FreeBooks& WhatIf::empty_books(const Node& node) {
  constexpr std::size_t kKinds_looked_at = 16;
  // Clusters have a handful of kinds of nodes, in runs. The last few are compared; an odd one out
  // costs a copy of its own, not a wrong answer.
  std::size_t looked_at = 0;
  for (auto kind = kinds_.rbegin(); kind != kinds_.rend() && looked_at < kKinds_looked_at;
       ++kind, ++looked_at) {
    if (same_kind(*kind->first, node)) return kind->second;
  }
  Node empty = node;
  // Who is on it, of ours and of others, is what is thought away. Findings and reservations of
  // cores stay: they are no jobs.
  empty.jobs.clear();
  empty.executors.clear();
  // The books of a copy without jobs are the same that the fold would keep (rebuild_books), so an
  // explanation cannot differ from the ledger.
  rebuild_books(state_, empty);
  kinds_.emplace_back(&node, FreeBooks(empty));
  return kinds_.back().second;
}

FreeView WhatIf::freed_view(const Node& node, const Freed& freed) {
  const FreeView empty = empty_books(node).view();
  FreeView view = view_of(node);
  if (freed.cores) view.cores = empty.cores;
  if (freed.memory) view.memory_bytes = empty.memory_bytes;
  if (freed.devices) {
    view.devices_milli = empty.devices_milli;
    view.slots_taken = empty.slots_taken;
  }
  // The rest stays as it is held now: that is what tells one resource from another.
  if (freed.countables.empty()) return view;
  countables_.push_back(*view.countables);
  // Views only point; what they look at lives here, and a deque never moves it.
  for (Countable& one : countables_.back()) {
    const auto& names = freed.countables;
    if (!std::binary_search(names.begin(), names.end(), one.name)) continue;
    one.amount = amount_of(*empty.countables, one.name);
  }
  view.countables = &countables_.back();
  return view;
}

FreeView WhatIf::view(NodeId node) const {
  return views().empty() ? view_of(state_.nodes[node]) : views()[node];
}

Candidates WhatIf::candidates() const {
  Candidates all;
  all.ranked = &ranked_;
  all.nodes = &state_.nodes.by_id();
  if (!views().empty()) all.views = &views();
  // Labels are compared with the jobs on a node, which are looked up here.
  if (!empty_) all.jobs = &state_.jobs;
  // On empty books nobody is near or apart from the job.
  all.executors = &state_.executors;
  return all;
}

// Made on the first job that asks for a unit: to sum up all nodes costs more than most searches,
// and a copy of others' sums costs less.
const Domains& WhatIf::domains() const {
  if (domains_) return *domains_;
  if (base_ != nullptr) {
    domains_ = base_->domains();
    auto mine = ranked_.begin();
    for (const NodeEntry& entry : base_->ranked_) {
      if (mine != ranked_.end() && *mine == entry) {
        ++mine;
      } else {
        domains_->drop(entry.node);
      }
    }
  } else if (as_is_ != nullptr) {
    domains_ = as_is_->domains();
    for (const NodeEntry& entry : ranked_) {
      domains_->update(entry.node, entry.rank, free(entry.node));
    }
  } else {
    domains_.emplace();
    ById<NodeId, NodeRank> ranks(state_.nodes.size());
    for (const NodeEntry& entry : ranked_) ranks[entry.node] = entry.rank;
    // By id: neighbours share their units, which Domains remembers.
    for (const NodeId id : nodes_.ids) domains_->put(node(id), ranks[id], free(id));
  }
  return *domains_;
}

bool WhatIf::fits(const JobSpec& spec) const {
  Candidates all = candidates();
  // A yes or no needs no ids, which are the dearer half of a search.
  all.only_whether = true;
  if (!spec.domain.empty()) all.domains = &domains();
  return find_places(all, policy_, spec, {}).has_value();
}

std::optional<std::vector<Placement>> WhatIf::places(const JobSpec& spec,
                                                     std::span<const NodeId> avoided) const {
  Candidates all = candidates();
  if (!spec.domain.empty()) all.domains = &domains();
  return find_places(all, policy_, spec, avoided);
}

std::vector<const Node*> WhatIf::matching(const JobSpec& spec) const {
  std::vector<const Node*> found;
  for (const NodeEntry& entry : ranked_) {
    const Node& node = state_.nodes[entry.node];
    if (allows(spec, node)) found.push_back(&node);
  }
  return found;
}

std::int64_t WhatIf::count_with_room(const JobSpec& spec) const {
  std::int64_t count = 0;
  for (const Node* node : matching(spec)) {
    // A whole node is wanted, and somebody is on it.
    if (spec.exclusive && !empty_ && !is_idle(*node)) continue;
    for (const TaskGroup& group : spec.groups) {
      if (capacity(view(node->id), group, policy_, 1) == 0) continue;
      ++count;
      break;
    }
  }
  return count;
}

}  // namespace dove::core
