#include "core/cycle/derived.h"

#include <algorithm>
#include <iterator>

#include "core/collections/move_in.h"
#include "core/nodes/care.h"
#include "core/nodes/health.h"
#include "core/place/hostlist.h"
#include "core/preempt/victims.h"
#include "core/state/books.h"
#include "core/state/wake.h"

namespace dove::core {
namespace {

template <class Id>
void set_wake(OrderedSet<std::pair<Instant, Id>>& wakes, Id id, Instant& noted, Instant wake) {
  if (noted == wake) return;
  const auto entry = [&](Instant at) {
    return at == kNever ? std::nullopt : std::optional(std::pair(at, id));
  };
  move_in(wakes, entry(noted), entry(wake));
  noted = wake;
}

bool has_dependents(const Derived& derived, JobId id) { return derived.dependents.contains(id); }

// Whether retention may drop the job: nobody alive refers to it or is of its array.
bool is_forgettable(const Derived& derived, const Job& job) {
  if (job.phase != JobPhase::kEnded || has_dependents(derived, job.id)) return false;
  if (!job.array) return true;
  const auto array = derived.arrays.find(job.array);
  return !has_dependents(derived, job.array) &&
         (array == derived.arrays.end() || array->second.live == 0);
}

void set_forgettable(const State& state, const Job& job) {
  Derived& derived = *state.derived;
  const auto note = derived.jobs.find(job.id);
  if (note == derived.jobs.end()) return;
  const bool now = is_forgettable(derived, job);
  if (now == note->second.forgettable) return;
  note->second.forgettable = now;
  if (now) {
    derived.forgettable.insert({note->second.ended_at, job.id});
  } else {
    derived.forgettable.erase({note->second.ended_at, job.id});
  }
}

// What `id` names: a job, or all elements of an array.
void set_forgettable_named(const State& state, JobId id) {
  for (auto at = state.jobs.lower_bound(id); at != state.jobs.end(); ++at) {
    if (at->second.id != id && at->second.array != id) return;
    set_forgettable(state, at->second);
    if (at->second.array != id) return;
  }
}

// Singletons wait for earlier jobs of their name: only the first can be free to go, and only the
// second can have been until a moment ago.
void check_singletons(Derived& derived, const std::set<JobId>& named) {
  auto at = named.begin();
  for (int i = 0; i < 2 && at != named.end(); ++i, ++at) {
    if (derived.singletons.contains(*at)) derived.to_check.insert(*at);
  }
}

bool is_singleton(const JobSpec& spec) {
  return std::any_of(spec.dependencies.begin(), spec.dependencies.end(),
                     [](const Dependency& one) { return one.kind == DependencyKind::kSingleton; });
}

void link_named(const State& state, const Job& job) {
  Derived& derived = *state.derived;
  const bool was_kept = !derived.singletons.empty();
  if (is_singleton(*job.spec)) derived.singletons.insert(job.id);
  if (derived.singletons.empty()) return;
  if (!was_kept) {
    for (const auto& [id, note] : derived.jobs) {
      if (!note.live) continue;
      const JobSpec& spec = *state.find_job(id)->spec;
      derived.named[{spec.user, spec.name}].insert(id);
    }
  }
  std::set<JobId>& named = derived.named[{job.spec->user, job.spec->name}];
  named.insert(job.id);
  check_singletons(derived, named);
}

void unlink_named(Derived& derived, JobId id, const JobSpec& spec) {
  if (derived.singletons.empty()) return;
  const auto named = derived.named.find({spec.user, spec.name});
  if (named != derived.named.end()) {
    named->second.erase(id);
    check_singletons(derived, named->second);
    if (named->second.empty()) derived.named.erase(named);
  }
  derived.singletons.erase(id);
  if (derived.singletons.empty()) derived.named.clear();
}

void link(State& state, const Job& job) {
  Derived& derived = *state.derived;
  link_named(state, job);
  derived.scores.add(*job.spec);
  for (const Dependency& one : job.spec->dependencies) {
    if (!one.job) continue;
    derived.dependents[one.job].insert(job.id);
    set_forgettable_named(state, one.job);
  }
  if (job.array && derived.arrays[job.array].live++ == 0) set_forgettable_named(state, job.array);
}

void unlink(State& state, JobId id, const JobSpec& spec, JobId array) {
  Derived& derived = *state.derived;
  unlink_named(derived, id, spec);
  derived.scores.remove(spec);
  for (const Dependency& one : spec.dependencies) {
    const auto at = derived.dependents.find(one.job);
    if (at == derived.dependents.end()) continue;
    at->second.erase(id);
    if (!at->second.empty()) continue;
    derived.dependents.erase(at);
    set_forgettable_named(state, one.job);
  }
  if (array && --derived.arrays[array].live == 0) set_forgettable_named(state, array);
}

void check_dependents(Derived& derived, JobId id) {
  const auto at = derived.dependents.find(id);
  if (at != derived.dependents.end()) derived.to_check.insert(at->second.begin(), at->second.end());
}

void forget(Derived& derived, JobId id) {
  const auto at = derived.jobs.find(id);
  if (at == derived.jobs.end()) return;
  if (at->second.forgettable) derived.forgettable.erase({at->second.ended_at, id});
  derived.plan.ends -= at->second.ends ? 1 : 0;
  if (!at->second.live) --derived.ended_count;
  derived.preemptible.erase(id);
  derived.stopping.erase(id);
  derived.jobs.erase(at);
}

template <class Id>
void keep(std::set<Id>& ids, Id id, bool in) {
  if (in) {
    ids.insert(id);
  } else if (!ids.empty()) {
    ids.erase(id);
  }
}

// What is held goes by this: by no other record does it change.
bool count_places(const Job& job, JobNote& note) {
  AttemptNumber attempt = 0;
  std::int32_t places = 0;
  if (job.phase == JobPhase::kActive) {
    attempt = job.attempts.back().number;
    for (const PlacementRecord& record : job.attempts.back().placements) {
      places += record.stage != PlacementStage::kEnded ? 1 : 0;
    }
  }
  const bool changed = attempt != note.attempt || places != note.places;
  note.attempt = attempt;
  note.places = places;
  return changed;
}

void count_end(const State& state, const Job& job, JobNote& note) {
  const bool ends = job.phase == JobPhase::kActive && held_until(state, job) != kNever;
  state.derived->plan.ends += (ends ? 1 : 0) - (note.ends ? 1 : 0);
  note.ends = ends;
}

void note_victim(Derived& derived, const Job& job) {
  const bool active = job.phase == JobPhase::kActive;
  const bool stopping = active && job.attempts.back().stage == Stage::kStopping;
  keep(derived.stopping, job.id, stopping);
  keep(derived.preemptible, job.id, active && !stopping && is_preemptible(*job.spec));
}

ShortList<PoolNote*, 1> pools_of(const State& state, const Node& node) {
  ShortList<PoolNote*, 1> pools;
  for (const auto& [name, pool] : state.pools) {
    if (any_hostlist_holds(pool.nodes, node.name)) pools.push_back(&state.derived->pools.at(name));
  }
  return pools;
}

void build(State& state, const Policies& policies, bool by_order_policy) {
  state.derived.reset(new Derived);
  state.derived->policies = policies;
  state.derived->by_order_policy = by_order_policy;
  state.derived->usage_fell = true;
  state.derived->scores.use(find_score(policies, state.settings.placement));
  state.derived->tree.build(state, state.derived->policies);
  note_reservations(state, state.derived->plan);
  for (const auto& [name, pool] : state.pools) state.derived->pools[name].name = name;
  for (const Node& node : state.nodes) touch(state, node.id);
  for (const auto& [id, job] : state.jobs) touch(state, id);
}

// What the node adds to the cluster's total while it is available.
Total total_of(const Node& node) {
  Total total;
  for (const NumaNode& numa : node.inventory->numa) {
    total.cores += static_cast<std::int64_t>(numa.cores.size());
  }
  total.cores = std::max<std::int64_t>(total.cores - node.declared.cores_reserved, 0);
  total.gpus_milli = static_cast<std::int64_t>(node.inventory->devices.size()) * kWholeDevice_milli;
  total.memory_bytes = node.inventory->memory_bytes - node.declared.memory_reserved_bytes;
  return total;
}

void count_total(Derived& derived, NodeNote& note, const Total& now) {
  if (note.total == now) return;
  derived.total.cores += now.cores - note.total.cores;
  derived.total.gpus_milli += now.gpus_milli - note.total.gpus_milli;
  derived.total.memory_bytes += now.memory_bytes - note.total.memory_bytes;
  note.total = now;
  derived.tree.set_total(derived.total);
}

// What a node lacks (its inventory shrank) is not taken from what others have.
void count_free(NodeNote& note, NodeFree now) {
  now.gpus_milli = std::max<std::int64_t>(now.gpus_milli, 0);
  now.memory_bytes = std::max<std::int64_t>(now.memory_bytes, 0);
  for (PoolNote* pool : note.pools) {
    NodeFree& sum = pool->free;
    sum.gpus_milli += now.gpus_milli - note.free.gpus_milli;
    sum.cores += now.cores - note.free.cores;
    sum.memory_bytes += now.memory_bytes - note.free.memory_bytes;
  }
  note.free = now;
}

// What was noted, in `batch`, whose memory serves for what will be.
template <class T>
void take_sorted(std::vector<T>& noted, std::vector<T>& batch) {
  batch.clear();
  batch.swap(noted);
  std::sort(batch.begin(), batch.end());
  batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
}

}  // namespace

bool is_available(const Node& node) {
  return !node.removed && node.contact == Contact::kConnected && !node.declared.drained &&
         node.inventory != nullptr && node.life == LifeStage::kProduction && !is_closed(node);
}

PoolNote* pool_note(const State& state, const JobSpec& spec) {
  const Pool* pool = pool_of(state, spec);
  return pool == nullptr ? nullptr : &state.derived->pools.at(pool->name);
}

void touch(State& state, JobId job) {
  if (state.derived != nullptr) state.derived->touched.push_back(job);
}

void touch(State& state, NodeId node) {
  if (state.derived != nullptr) state.derived->nodes_touched.push_back(node);
}

void touch_given(State& state, NodeId node) {
  if (state.derived != nullptr) state.derived->nodes_given.push_back(node);
}

void touch_taken(State& state, NodeId node) {
  if (state.derived != nullptr) state.derived->nodes_taken.push_back(node);
}

void note_usage_fell(State& state) {
  if (state.derived != nullptr) state.derived->usage_fell = true;
}

void sync_node(State& state, NodeId id) {
  Derived& derived = *state.derived;
  if (derived.nodes.size() < state.nodes.size()) derived.nodes.resize(state.nodes.size());
  const Node& node = state.nodes[id.value - 1];
  NodeNote& note = derived.nodes[id.value - 1];
  if (!note.known) {
    note.known = true;
    note.pools = pools_of(state, node);
    note_reserved(state, derived.plan, node);
  }
  const bool available = is_available(node);
  for (PoolNote* pool : note.pools) {
    if (available && !note.available) pool->nodes.insert({note.rank, id});
    if (!available && note.available) pool->nodes.erase({note.rank, id});
    available ? pool->domains.put(node, note.rank, {}) : pool->domains.drop(id);
  }
  note.available = available;
  if (!available) count_free(note, NodeFree{});
  sync_free(state, id);
  count_total(derived, note, available ? total_of(node) : Total{});
  keep(derived.in_care, id, wants_care(node));
  set_wake(derived.node_wakes, id, note.wake, lost_at(state, node));
}

void sync_free(State& state, NodeId id) {
  Derived& derived = *state.derived;
  derived.scores.touch(id);
  ++derived.books_version;
  if (derived.nodes.size() < id.value) return;  // it is new: all of it is looked at next
  NodeNote& note = derived.nodes[id.value - 1];
  if (!note.available) return;
  const NodeFree free = free_of(state.nodes[id.value - 1]);
  const NodeRank rank = derived.policies.placement->rank(free);
  for (PoolNote* pool : note.pools) {
    if (rank != note.rank) move_in(pool->nodes, {{note.rank, id}}, {{rank, id}});
    pool->domains.update(id, rank, free);
  }
  note.rank = rank;
  count_free(note, free);
}

void sync_job(State& state, JobId id) {
  Derived& derived = *state.derived;
  const auto found = state.jobs.find(id);
  if (found == state.jobs.end()) return forget(derived, id);
  const Job& job = found->second;
  const auto [at, added] = derived.jobs.try_emplace(id);
  JobNote& note = at->second;
  const bool live = job.phase != JobPhase::kEnded;
  const bool active = job.phase == JobPhase::kActive;
  if (added) note.live = !live;
  if (live != note.live) {
    note.live = live;
    if (!live) note.ended_at = job.ended_at;  // before unlink, which may make it forgettable
    if (live) {
      if (!added) --derived.ended_count;
      link(state, job);
    } else {
      ++derived.ended_count;
      if (!added) unlink(state, id, *job.spec, job.array);
    }
    set_forgettable(state, job);
    if (live) note.ended_at = {};
  }
  if (active != note.active) {
    note.active = active;
    if (job.array) derived.arrays[job.array].active += active ? 1 : -1;
  }
  note_victim(derived, job);
  count_end(state, job, note);
  set_wake(derived.job_wakes, id, note.wake, wake_of(state, job));
  if (count_places(job, note) && derived.tree.depends_on_usage()) {
    state.accounts.of(state, job);
    derived.tree.usage_changed(derived.tree.holder_of(job));
  }
  check_dependents(derived, id);
  if (job.array && job.array != id) check_dependents(derived, job.array);
  switch (job.phase) {
    case JobPhase::kWaiting:
      derived.to_check.insert(id);
      if (job.cancel_requested) derived.to_finish.insert(id);
      return;
    case JobPhase::kActive:
      dequeue(state, note);
      derived.to_finish.insert(id);
      derived.to_start.insert(id);
      return;
    case JobPhase::kEnded:
      dequeue(state, note);
      return;
  }
}

void sync_wake(State& state, JobId id) {
  const Job* job = state.find_job(id);
  const auto note = state.derived->jobs.find(id);
  if (job == nullptr || note == state.derived->jobs.end()) return;
  set_wake(state.derived->job_wakes, id, note->second.wake, wake_of(state, *job));
}

namespace {

// Nodes that are promised to somebody, and that these jobs may be gone from sooner than was known:
// there may be more room beside the promise.
void add_promised_nodes(const State& state, const std::vector<JobId>& jobs,
                        std::vector<NodeId>& out) {
  if (state.promises.empty()) return;
  const auto& promised = state.derived->plan.promised;
  for (JobId id : jobs) {
    const Job* job = state.find_job(id);
    if (job == nullptr || job->phase != JobPhase::kActive) continue;
    for (const PlacementRecord& record : job->attempts.back().placements) {
      if (promised.contains(record.placement->node)) out.push_back(record.placement->node);
    }
  }
}

}  // namespace

void sync(State& state) {
  Derived& derived = *state.derived;
  auto& [jobs, touched, given, freed, taken] = derived.batch;
  take_sorted(derived.nodes_taken, taken);
  for (NodeId id : taken) sync_free(state, id);
  take_sorted(derived.nodes_given, given);
  for (NodeId id : given) sync_free(state, id);
  take_sorted(derived.nodes_touched, touched);
  for (NodeId id : touched) sync_node(state, id);
  freed.clear();
  std::set_union(given.begin(), given.end(), touched.begin(), touched.end(),
                 std::back_inserter(freed));
  take_sorted(derived.touched, jobs);
  for (JobId id : jobs) sync_job(state, id);
  note_changes(state, taken, freed, jobs);
  const std::size_t freed_now = freed.size();
  add_promised_nodes(state, jobs, freed);
  if (derived.usage_fell || freed.size() > freed_now) ++derived.books_version;
  if (!freed.empty() || derived.usage_fell) reopen(state, freed);
  derived.usage_fell = false;
}

void prepare_derived(State& state, const Policies& policies, const CycleOptions& options) {
  const bool by_order_policy = options.runs(Pass::kOrder);
  const Derived* derived = state.derived.get();
  if (derived == nullptr || derived->policies.order != policies.order ||
      derived->policies.orders != policies.orders ||
      derived->policies.placement != policies.placement ||
      derived->policies.scores != policies.scores || derived->by_order_policy != by_order_policy ||
      derived->plan.boundary <= state.now) {
    build(state, policies, by_order_policy);
  }
  sync(state);
}

}  // namespace dove::core
