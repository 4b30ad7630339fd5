#include "core/cycle/kept_nodes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/cycle/cycle.h"
#include "core/place/limits.h"
#include "core/place/place.h"
#include "core/plan/planner.h"
#include "core/plan/promise.h"
#include "core/state/books.h"
#include "core/state/dependency.h"
#include "core/state/findings.h"

namespace dove::core {
namespace {

// At most a quarter of the pool stands idle for one job: more would cost everybody else too much.
constexpr std::size_t kPart_max = 4;
// How many jobs of a class are looked at, the first ones.
constexpr int kWaiting_looked_at_max = 64;
// How many nodes are looked at, those with the most room.
constexpr std::size_t kLooked_at_max = 1024;

struct Waits {
  Instant since;
  JobId job;
  const EquivalenceClass* of = nullptr;
  bool operator<(const Waits& other) const {
    return std::pair(since, job) < std::pair(other.since, other.job);
  }
};

// A node that could be kept: ascending in the order in which they are.
struct Draining {
  std::int64_t oldest_negated = 0;
  NodeId node;
  auto operator<=>(const Draining&) const = default;
};

bool can_wait_for_nodes(const JobSpec& spec) {
  return !spec.domain_required && spec.near_labels.empty() && spec.apart_labels.empty() &&
         spec.reservation.empty() && !has_wish_for_all(spec);
}

// The instant from which on the job has waited for a place and nothing else; none while it does
// not, or not for long.
std::optional<Instant> waiting_since(const State& state, const Job& job) {
  // Waiting starts anew with each attempt: what was preempted was served.
  const Instant last = waits_again_at(job);
  if (last + kWaits_too_long > state.now) return std::nullopt;
  const std::optional<Instant> eligible = eligible_at(state, job);
  if (!eligible || *eligible + kWaits_too_long > state.now) return std::nullopt;
  return std::max(last, *eligible);
}

// How long jobs of the class have waited: the oldest of the first ones, as their order is not quite
// that of submission. Nodes are kept for the first, which is tried before the others.
std::optional<Instant> waiting_since(const State& state, const EquivalenceClass& it) {
  if (it.waits_from + kWaits_too_long > state.now) return std::nullopt;
  std::optional<Instant> oldest;
  int looked_at = 0;
  for (const QueueKey& key : it.jobs) {
    const auto since = waiting_since(state, *state.find_job(key.job));
    if (since && (!oldest || *since < *oldest)) oldest = since;
    if (++looked_at == kWaiting_looked_at_max) break;
  }
  return oldest;
}

// By pool.
std::map<std::string, Waits> longest_waiting(const State& state, const Indexes& indexes) {
  std::map<std::string, Waits> longest;
  for (std::uint64_t id = 1; id <= indexes.classes.last(); ++id) {
    const EquivalenceClass* it = indexes.classes.find(id);
    if (it == nullptr || it->jobs.empty() || it->pool == nullptr) continue;
    // One GPU and less finds its place as others end; only larger jobs need somebody to keep nodes
    // for them.
    if (it->needs.gpus_milli <= kWholeDevice_milli) continue;
    if (!can_wait_for_nodes(*it->spec)) continue;
    const Job& job = *state.find_job(it->jobs.begin()->job);
    const auto since = waiting_since(state, *it);
    if (!since) continue;
    // Queues whose order lets later jobs pass earlier ones are where a large job may wait for ever.
    // In the others, those behind it wait as well.
    if (indexes.tree.order_of(it->spec->queue).head() != Head::kTakesOver) continue;
    // A promise protects it already, and what something declared keeps waiting is not helped by
    // nodes.
    if (state.promises.contains(job.id) || !declared_obstacles(state, *it->spec).empty()) continue;
    // Nor does a node help where a limit is in the way.
    if (array_is_full(indexes, *it) ||
        !broken_limits(state, *it->spec, least_amount(*it->spec), true).empty()) {
      continue;
    }
    const Waits waits{*since, job.id, it};
    const auto [at, added] = longest.try_emplace(it->pool->name, waits);
    if (!added && waits < at->second) at->second = waits;
  }
  return longest;
}

// The longer a job has run, the longer it is likely to run on (service times have heavy tails). The
// age of its oldest job therefore says how soon a node will be empty.
Instant oldest_start(const State& state, const Node& node) {
  Instant oldest = kNever;
  for (const JobId id : node.jobs) {
    oldest = std::min(oldest, state.find_job(id)->attempts.back().allocated_at);
  }
  return oldest;
}

std::vector<Draining> drained_soonest(const State& state, const Indexes& indexes,
                                      const Waits& waits) {
  std::vector<NodeId> ids;
  for (const NodeEntry& entry : waits.of->pool->nodes) ids.push_back(entry.node);
  // Ranks ascend by what is free, so the last ones have most.
  if (ids.size() > kLooked_at_max) {
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(kLooked_at_max));
  }
  std::vector<Draining> nodes;
  for (const NodeId id : ids) {
    const Node& node = state.nodes[id];
    if (!allows(*waits.of->spec, node) || indexes.plan.is_reserved(id)) continue;
    nodes.push_back({-oldest_start(state, node).us, id});
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::int32_t tasks_a_node(const TaskGroup& group) {
  if (group.tasks_per_node > 0) return group.tasks_per_node;
  if (group.nodes_min > 1) return (group.tasks + group.nodes_min - 1) / group.nodes_min;
  return group.tasks;
}

// As many of them as the job needs when nobody is on them; none when these would not do.
std::vector<NodeId> enough_of(const State& state, const PlacementPolicy& policy,
                              const std::vector<Draining>& nodes, const Waits& waits,
                              const std::set<NodeId>& taken) {
  std::vector<NodeId> enough;
  auto next = nodes.begin();
  for (const TaskGroup& group : waits.of->spec->groups) {
    for (std::int32_t left = group.tasks; left > 0; ++next) {
      if (next == nodes.end()) return {};
      // A node is kept for one job: two keepers that wait for the same node would both wait for
      // ever.
      if (taken.contains(next->node)) continue;
      // Empty: whoever is there now will have gone.
      const FreeBooks books = books_of_empty(state.nodes[next->node]);
      const std::int32_t most = std::min(left, tasks_a_node(group));
      const std::int32_t here = capacity(books.view(), group, policy, most);
      if (here == 0) continue;
      left -= here;
      enough.push_back(next->node);
    }
  }
  if (enough.size() * kPart_max > waits.of->pool->nodes.size()) return {};
  std::sort(enough.begin(), enough.end());
  return enough;
}

}  // namespace

KeptNodes kept_nodes(const State& state, const Indexes& indexes, const PlacementPolicy& policy) {
  KeptNodes kept;
  if (!state.learned.kept) return kept;
  std::vector<Waits> longest;
  for (const auto& [pool, waits] : longest_waiting(state, indexes)) longest.push_back(waits);
  std::sort(longest.begin(), longest.end());
  std::set<NodeId> taken;  // pools may share nodes
  // The job that has waited longest chooses first.
  for (const Waits& waits : longest) {
    auto nodes = enough_of(state, policy, drained_soonest(state, indexes, waits), waits, taken);
    if (nodes.empty()) continue;
    taken.insert(nodes.begin(), nodes.end());
    kept.emplace(waits.job, std::move(nodes));
  }
  return kept;
}

bool may_keep_nodes(const State& state) {
  if (!state.learned.kept) return false;
  for (const auto& [id, job] : state.jobs) {
    // Later jobs were submitted later still, and are not looked at: that would take milliseconds
    // where a hundred thousand wait.
    if (job.submitted_at + kWaits_too_long > state.now) break;
    if (job.phase == JobPhase::kWaiting && waiting_since(state, job).has_value()) return true;
  }
  return false;
}

KeptNodes kept_nodes(const State& state, const Policies& policies) {
  if (!may_keep_nodes(state)) return {};
  // On a copy of the state, with the order pass alone: to say what is kept, nothing may be decided.
  State copy(state);
  Indexes indexes;
  CycleOptions order_only;
  for (std::size_t pass = 0; pass < kPass_count; ++pass) {
    order_only.off[pass] = pass != static_cast<std::size_t>(Pass::kOrder);
  }
  run_cycle(copy, indexes, policies, order_only);
  return kept_nodes(copy, indexes, *policies.placement);
}

std::vector<NodeId> nodes_kept_from(const State& state, const KeptNodes& kept, const Job& job) {
  std::vector<NodeId> nodes;
  for (const auto& [id, its] : kept) {
    // A job that comes before the keeper is not kept out, or a low job could hold nodes against a
    // higher one.
    if (id == job.id || comes_before(state, job, *state.find_job(id))) continue;
    nodes.insert(nodes.end(), its.begin(), its.end());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace dove::core
