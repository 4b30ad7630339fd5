#include "core/explain/what_if.h"

#include <algorithm>

#include "base/check.h"
#include "core/state/books.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"

namespace dove::core {

WhatIf::Kind::Kind(const Node& node)
    : inventory(node.inventory),
      cores_reserved(node.declared.cores_reserved),
      memory_reserved_bytes(node.declared.memory_reserved_bytes),
      countables(node.declared.countables),
      whole_cores(gives_whole_cores(node)) {
  for (std::size_t i = 0; i < node.inventory->devices.size() && !node.findings.empty(); ++i) {
    if (is_device_closed(node, i)) devices_closed.push_back(static_cast<std::int32_t>(i));
  }
}

WhatIf::WhatIf(const State& state, const PlacementPolicy& policy, const PoolNodes& nodes)
    : state_(state), policy_(policy), nodes_(nodes), empty_(false) {
  rank_all();
}

WhatIf::WhatIf(WhatIf& as_is, const Freed& freed)
    : state_(as_is.state_),
      policy_(as_is.policy_),
      nodes_(as_is.nodes_),
      freed_(freed),
      empty_(freed.all),
      as_is_(&as_is) {
  views_.resize(state_.nodes.size());
  kind_of_.resize(state_.nodes.size());
  for (const NodeId id : nodes_.ids) views_[id] = freed_view(state_.nodes[id]);
  rank_all();
}

// Ranked by the books that are asked about, not by those of now: the policy's order has to be that
// of a launch on such nodes.
void WhatIf::rank_all() {
  ranks_.resize(state_.nodes.size());
  free_.resize(state_.nodes.size());
  std::vector<NodeEntry> entries;
  entries.reserve(nodes_.ids.size());
  for (const NodeId id : nodes_.ids) {
    free_[id] = free_of(view(id));
    ranks_[id] = policy_.rank(free_[id]);
    entries.push_back({ranks_[id], id});
  }
  // Nodes mostly come in the order of their ranks on an idle cluster, so it is worth a look before
  // the sort.
  if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
  ranked_.emplace(entries.begin(), entries.end());
}

void WhatIf::update(NodeId id) {
  if (base_ != nullptr) return update_part(id);
  const bool is_member = includes(id);
  const bool was_member = ranked_->contains({ranks_[id], id});
  if (!is_member) {
    if (was_member) ranked_->erase({ranks_[id], id});
    if (domains_) domains_->drop(id);
    return;
  }
  const Node& it = node(id);
  if (as_is_ != nullptr) views_[id] = freed_view(it);
  free_[id] = free_of(view(id));
  const NodeRank rank = policy_.rank(free_[id]);
  if (!was_member || rank != ranks_[id]) {
    if (was_member) ranked_->erase({ranks_[id], id});
    ranks_[id] = rank;
    ranked_->insert({rank, id});
  }
  // Its place in the tree may be another one, too.
  if (domains_) domains_->put(it, rank, free(id));
}

void WhatIf::update_part(NodeId id) {
  const bool is_in = includes(id);
  if (is_in != are_in_[id]) is_in ? ++part_size_ : --part_size_;
  are_in_[id] = is_in;
  ranked_.reset();
  if (!domains_) return;
  is_in ? domains_->put(node(id), base_->ranks_[id], free(id)) : domains_->drop(id);
}

WhatIf::WhatIf(WhatIf& base, Nodes nodes, const Closed& closed)
    : state_(base.state_),
      policy_(base.policy_),
      nodes_(base.nodes_),
      freed_(base.freed_),
      empty_(base.empty_),
      only_available_(nodes == Nodes::kAvailable),
      base_(&base) {
  CHECK(base.base_ == nullptr, "the base has all of the nodes");
  are_in_.resize(state_.nodes.size());
  for (const NodeId id : nodes_.ids) {
    const bool is_in = includes(id) && !(closed.holds(id) && closed[id]);
    are_in_[id] = is_in;
    part_size_ += is_in ? 1 : 0;
  }
}

// A node's rank depends on its books alone, so a part of ranked nodes needs no sort.
const RankedNodes& WhatIf::ranked() {
  if (ranked_) return *ranked_;
  std::vector<NodeEntry> entries;
  entries.reserve(part_size_);
  for (const NodeEntry& entry : all_ranked()) {
    if (are_in_[entry.node]) entries.push_back(entry);
  }
  return ranked_.emplace(entries.begin(), entries.end());
}

const FreeBooks& WhatIf::empty_books(const Node& node) {
  constexpr std::size_t kKinds_looked_at = 16;
  Kind wanted(node);
  const EmptyBooks*& known_kind = kind_of_[node.id];
  if (known_kind != nullptr && known_kind->kind == wanted) return known_kind->books;
  // Clusters have a handful of kinds of nodes, in runs. The last few are compared; an odd one out
  // costs a copy of its own, not a wrong answer. Inventories are shared and never changed in place:
  // nodes that do not share theirs are each a kind.
  std::size_t looked_at = 0;
  for (auto known = kinds_.rbegin(); known != kinds_.rend() && looked_at < kKinds_looked_at;
       ++known, ++looked_at) {
    if (known->kind != wanted) continue;
    known_kind = &*known;
    return known->books;
  }
  Node empty = node;
  // The jobs on it, ours and those of others, are what is thought away. Findings and reservations
  // of cores stay: they are not jobs.
  empty.jobs.clear();
  for (NodeExecutor& each : empty.executors) each.foreign.clear();
  // The books of a copy without jobs are the same that the fold would keep (rebuild_books), so an
  // explanation cannot differ from the ledger.
  rebuild_books(state_, empty);
  kinds_.push_back({std::move(wanted), FreeBooks(empty)});
  known_kind = &kinds_.back();
  return known_kind->books;
}

FreeView WhatIf::freed_view(const Node& node) {
  const FreeView empty = empty_books(node).view();
  if (freed_->all) return empty;
  FreeView view = view_of(node);
  if (freed_->cores) view.cores = empty.cores;
  if (freed_->memory) view.memory_bytes = empty.memory_bytes;
  if (freed_->devices) {
    view.devices_milli = empty.devices_milli;
    view.slots_taken = empty.slots_taken;
  }
  // The rest stays as it is held now: that is what tells one resource from another.
  if (freed_->countables.empty()) return view;
  countables_.push_back(*view.countables);
  // Views only point; what they look at lives here, and a deque never moves it.
  for (Countable& one : countables_.back()) {
    const auto& names = freed_->countables;
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
  all.ranked = &all_ranked();
  if (base_ != nullptr) all.only = &are_in_;
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
const Domains& WhatIf::domains() {
  if (domains_) return *domains_;
  if (base_ != nullptr) {
    domains_ = base_->domains();
    for (const NodeId id : nodes_.ids) {
      if (!are_in_[id]) domains_->drop(id);
    }
  } else if (as_is_ != nullptr) {
    domains_ = as_is_->domains();
    for (const NodeId id : nodes_.ids) domains_->update(id, ranks_[id], free(id));
  } else {
    domains_.emplace();
    // By id: neighbours share their units, which Domains remembers.
    for (const NodeId id : nodes_.ids) domains_->put(node(id), ranks_[id], free(id));
  }
  return *domains_;
}

bool WhatIf::fits(const JobSpec& spec) {
  Candidates all = candidates();
  // A yes or no needs no ids, which are the dearer half of a search.
  all.only_whether = true;
  // The units of more nodes do for that, and need no copy: what they have together says too much at
  // most, and the order in which they are tried decides where to go, not whether.
  if (!spec.domain.empty()) all.domains = base_ == nullptr ? &domains() : &base_->domains();
  return find_places(all, policy_, spec, {}).has_value();
}

std::optional<std::vector<Placement>> WhatIf::places(const JobSpec& spec,
                                                     std::span<const NodeId> avoided) {
  Candidates all = candidates();
  if (!spec.domain.empty()) all.domains = &domains();
  return find_places(all, policy_, spec, avoided);
}

std::vector<const Node*> WhatIf::matching(NodeChoice& choice) const {
  std::vector<const Node*> found;
  each([&](NodeId id) {
    if (choice.allows(id)) found.push_back(&state_.nodes[id]);
  });
  return found;
}

std::int64_t WhatIf::count_with_room(NodeChoice& choice) const {
  const JobSpec& spec = choice.spec();
  std::int64_t count = 0;
  each([&](NodeId id) {
    const bool has_room =
        std::any_of(spec.groups.begin(), spec.groups.end(), [&](const auto& group) {
          // The sums first: most nodes of a full cluster need no closer look.
          return covers(free(id), needs_of(group, 1)) && capacity(view(id), group, policy_, 1) > 0;
        });
    if (!has_room || !choice.allows(id)) return;
    // A whole node is wanted, and somebody is on it.
    if (spec.exclusive && !empty_ && !is_idle(node(id))) return;
    ++count;
  });
  return count;
}

}  // namespace dove::core
