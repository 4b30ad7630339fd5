#include "core/cycle/indexes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/collections/move_in.h"
#include "core/cycle/wake.h"
#include "core/nodes/contact.h"
#include "core/nodes/maintenance.h"
#include "core/preempt/victims.h"
#include "core/queue/total.h"
#include "core/state/books.h"
#include "core/state/findings.h"
#include "core/state/holders/month_use.h"
#include "core/state/read_ahead.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

template <class Id>
void set_wake(OrderedSet<std::pair<Instant, Id>>& wakes, Id id, Instant& noted, Instant wake) {
  // Most jobs have no instant that wakes them, and most changes leave it as it is.
  if (noted == wake) return;
  const auto entry = [&](Instant at) {
    return at == kNever ? std::nullopt : std::optional(std::pair(at, id));
  };
  move_in(wakes, entry(noted), entry(wake));
  noted = wake;
}

// Singletons wait for earlier jobs of their name: only the first can be free to go, and only the
// second can have been until a moment ago.
void check_singletons(Indexes& indexes, const std::set<JobId>& named) {
  auto at = named.begin();
  for (int i = 0; i < 2 && at != named.end(); ++i, ++at) {
    if (indexes.singletons.jobs.contains(*at)) indexes.to_check.insert(*at);
  }
}

bool is_singleton(const JobSpec& spec) {
  return std::any_of(spec.dependencies.begin(), spec.dependencies.end(),
                     [](const Dependency& one) { return one.kind == DependencyKind::kSingleton; });
}

void link_named(const State& state, Indexes& indexes, const Job& job) {
  // Names are indexed from the first singleton on. Hardly any cluster has one, and then no job pays
  // for it.
  const bool was_kept = !indexes.singletons.jobs.empty();
  if (is_singleton(*job.spec)) indexes.singletons.jobs.insert(job.id);
  if (indexes.singletons.jobs.empty()) return;
  if (!was_kept) {
    for (const auto& [id, entry] : indexes.jobs) {
      if (!entry.live) continue;
      const JobSpec& spec = *state.find_job(id)->spec;
      indexes.singletons.named[{spec.user, spec.name}].insert(id);
    }
  }
  std::set<JobId>& named = indexes.singletons.named[{job.spec->user, job.spec->name}];
  named.insert(job.id);
  check_singletons(indexes, named);
}

void unlink_named(Indexes& indexes, JobId id, const JobSpec& spec) {
  if (indexes.singletons.jobs.empty()) return;
  const auto named = indexes.singletons.named.find({spec.user, spec.name});
  if (named != indexes.singletons.named.end()) {
    named->second.erase(id);
    check_singletons(indexes, named->second);
    if (named->second.empty()) indexes.singletons.named.erase(named);
  }
  indexes.singletons.jobs.erase(id);
  // The last one is gone: nobody asks for names any more.
  if (indexes.singletons.jobs.empty()) indexes.singletons.named.clear();
}

// Whose beginning and end the job is to hear of.
JobId awaited(const State& state, const Job& job, const Dependency& one) {
  if (one.kind != DependencyKind::kAfterCorr) return one.job;
  const JobId counterpart = counterpart_of(state, job, one.job);
  return counterpart ? counterpart : one.job;
}

void link(const State& state, Indexes& indexes, const Job& job) {
  link_named(state, indexes, job);
  indexes.scores.add(*job.spec);
  for (const Dependency& one : job.spec->dependencies) {
    if (!one.job) continue;
    indexes.waiters[awaited(state, job, one)].insert(job.id);
    std::set<JobId>& dependents = indexes.dependents[one.job];
    const bool is_first = dependents.empty();
    dependents.insert(job.id);
    // A job that something depends on must stay, even ended.
    if (is_first) set_forgettable_named(state, indexes, one.job);
  }
  // The first live element of an array makes all its ended ones unforgettable.
  if (job.array && array_of(indexes, job).live++ == 0)
    set_array_forgettable(state, indexes, job.array);
}

void unlink(const State& state, Indexes& indexes, const Job& job) {
  const JobId id = job.id;
  const JobSpec& spec = *job.spec;
  unlink_named(indexes, id, spec);
  indexes.scores.remove(spec);
  for (const Dependency& one : spec.dependencies) {
    // Found as when it was linked: what has dependents is not forgotten.
    const auto waiters = indexes.waiters.find(awaited(state, job, one));
    if (waiters != indexes.waiters.end()) {
      waiters->second.erase(id);
      if (waiters->second.empty()) indexes.waiters.erase(waiters);
    }
    const auto at = indexes.dependents.find(one.job);
    if (at == indexes.dependents.end()) continue;
    at->second.erase(id);
    if (!at->second.empty()) continue;
    indexes.dependents.erase(at);
    // Nobody depends on it now; it may be forgotten.
    set_forgettable_named(state, indexes, one.job);
  }
  if (job.array && --indexes.arrays[job.array].live == 0) {
    set_array_forgettable(state, indexes, job.array);
  }
}

// All of them, though most will find nothing new: only the dependency itself knows what it waits
// for.
void check_waiters(Indexes& indexes, JobId id) {
  const auto at = indexes.waiters.find(id);
  if (at != indexes.waiters.end()) indexes.to_check.insert(at->second.begin(), at->second.end());
}

void forget(Indexes& indexes, JobId id) {
  const auto at = indexes.jobs.find(id);
  if (at == indexes.jobs.end()) return;
  if (at->second.forgettable) indexes.forgettable.erase(forget_key(indexes, id, at->second));
  indexes.plan.ends -= at->second.ends ? 1 : 0;
  // Only ended ones are in that count. A job that is deleted while it lives was never counted.
  if (!at->second.live) --indexes.ended_count;
  indexes.preemptible.erase(id);
  indexes.stopping.erase(id);
  indexes.preempted.erase(id);
  indexes.jobs.erase(at);
}

template <class Id>
void keep(std::set<Id>& ids, Id id, bool in) {
  if (in) {
    ids.insert(id);
    // Erasing from an empty set is the usual case.
  } else if (!ids.empty()) {
    ids.erase(id);
  }
}

// What is held follows this record: no other record changes it.
bool count_places(const Job& job, IndexedJob& entry) {
  AttemptNumber attempt = 0;
  std::int32_t places = 0;
  if (job.phase == JobPhase::kActive) {
    attempt = job.attempts.back().number;
    for (const PlacementRecord& record : job.attempts.back().placements) {
      places += record.stage != PlacementStage::kEnded ? 1 : 0;
    }
  }
  // Attempt and number of places together: an attempt may end and the next begin within one batch.
  const bool changed = attempt != entry.attempt || places != entry.places;
  entry.attempt = attempt;
  entry.places = places;
  return changed;
}

bool has_begun(const Job& job) {
  return std::any_of(job.attempts.begin(), job.attempts.end(),
                     [](const Attempt& attempt) { return attempt.started_at.us != 0; });
}

void count_end(const State& state, Indexes& indexes, const Job& job, IndexedJob& entry) {
  const bool ends = job.phase == JobPhase::kActive && places_free_at(state, job) != kNever;
  indexes.plan.ends += (ends ? 1 : 0) - (entry.ends ? 1 : 0);
  entry.ends = ends;
}

void note_victim(Indexes& indexes, const Job& job) {
  const bool active = job.phase == JobPhase::kActive;
  const bool stopping = active && job.attempts.back().stage == Stage::kStopping;
  keep(indexes.stopping, job.id, stopping);
  keep(indexes.preemptible, job.id, active && !stopping && is_preemptible(*job.spec));
  keep(indexes.preempted, job.id, job.phase != JobPhase::kEnded && job.preemptions > 0);
}

ShortList<PoolIndex*, 1> pools_of(const State& state, Indexes& indexes, const Node& node) {
  ShortList<PoolIndex*, 1> pools;
  // A host list is matched once for a node, not in every search.
  for (const auto& [name, pool] : state.pools) {
    if (text::any_hostlist_holds(pool.nodes, node.name)) pools.push_back(&indexes.pools.at(name));
  }
  return pools;
}

void build(State& state, Indexes& indexes, const Policies& policies, bool by_order_policy) {
  indexes = Indexes();
  indexes.policies = policies;
  indexes.by_order_policy = by_order_policy;
  indexes.month = month_of(state.now);
  indexes.scores.use(find_score(policies, state.settings.placement));
  indexes.tree.build(state, indexes.policies);
  note_reservations(state, indexes.plan);
  for (const auto& [name, pool] : state.pools) indexes.pools[name].name = name;
  state.changes.follow();
  state.changes.note_usage_fell();
  // Everything counts as touched: the same code builds and follows, so the two cannot differ.
  for (const Node& node : state.nodes) state.changes.touch(node.id);
  for (const auto& [id, job] : state.jobs) {
    state.changes.touch(id);
    // Known before the first element is queued by it.
    if (job.array && job.phase == JobPhase::kEnded) note_end(state, indexes, job);
  }
}

void count_total(Indexes& indexes, IndexedNode& entry, const Total& now) {
  // The tree divides by the total, and works every share out again when it changes.
  if (entry.total == now) return;
  exchange(indexes.total, entry.total, now);
  entry.total = now;
  indexes.tree.set_total(indexes.total);
}

// What a node lacks (its inventory shrank) is not taken from what others have.
void count_free(IndexedNode& entry, NodeFree now) {
  now.gpus_milli = std::max<std::int64_t>(now.gpus_milli, 0);
  now.memory_bytes = std::max<std::int64_t>(now.memory_bytes, 0);
  for (PoolIndex* pool : entry.pools) {
    NodeFree& sum = pool->free;
    sum.gpus_milli += now.gpus_milli - entry.free.gpus_milli;
    sum.cores += now.cores - entry.free.cores;
    sum.memory_bytes += now.memory_bytes - entry.free.memory_bytes;
  }
  entry.free = now;
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

const PoolIndex* pool_index_of(const State& state, const Indexes& indexes, const JobSpec& spec) {
  // Nodes that joined since are not known yet.
  const Pool* pool = pool_of(state, spec);
  return pool == nullptr ? nullptr : &indexes.pools.at(pool->name);
}

void sync_node(const State& state, Indexes& indexes, NodeId id) {
  if (indexes.nodes.size() < state.nodes.size()) indexes.nodes.resize(state.nodes.size());
  const Node& node = state.nodes[id];
  IndexedNode& entry = indexes.nodes[id];
  if (!entry.known) {
    entry.known = true;
    entry.pools = pools_of(state, indexes, node);
    note_reserved(state, indexes.plan, node);
  }
  const bool available = is_available(node);
  for (PoolIndex* pool : entry.pools) {
    if (available && !entry.available) pool->nodes.insert({entry.rank, id});
    if (!available && entry.available) pool->nodes.erase({entry.rank, id});
    // A node that comes back is put before its sums are counted; sync_free below does that.
    available ? pool->domains.put(node, entry.rank, {}) : pool->domains.drop(id);
  }
  entry.available = available;
  if (!available) count_free(entry, NodeFree{});
  sync_free(state, indexes, id);
  count_total(indexes, entry, available ? total_of(node) : Total{});
  keep(indexes.in_maintenance, id, wants_maintenance(node));
  set_wake(indexes.node_wakes, id, entry.wake, lost_at(state, node));
}

void sync_free(const State& state, Indexes& indexes, NodeId id) {
  indexes.scores.touch(id);
  // Anything that searches have read may be another now.
  indexes.books.move_on();
  if (!indexes.nodes.holds(id)) return;  // it is new: all of it is looked at next
  IndexedNode& entry = indexes.nodes[id];
  if (!entry.available) return;
  const NodeFree free = free_of(state.nodes[id]);
  const NodeRank rank = indexes.policies.placement->rank(free);
  // A rank that stays leaves the order of nodes as it is, and that is where the time would go.
  for (PoolIndex* pool : entry.pools) {
    if (rank != entry.rank) move_in(pool->nodes, {{entry.rank, id}}, {{rank, id}});
    pool->domains.update(id, rank, free);
  }
  entry.rank = rank;
  count_free(entry, free);
}

void sync_job(State& state, Indexes& indexes, JobId id) {
  const auto found = state.jobs.find(id);
  if (found == state.jobs.end()) return forget(indexes, id);
  Job& job = found->second;
  const auto [at, added] = indexes.jobs.try_emplace(id);
  IndexedJob& entry = at->second;
  const bool live = job.phase != JobPhase::kEnded;
  const bool active = job.phase == JobPhase::kActive;
  // As if it had been the opposite, so that the first look links it or counts it as ended.
  if (added) entry.live = !live;
  const bool begun = has_begun(job);
  // It may have ended anew, and otherwise, since the last look.
  const bool ended_anew = !live && job.ended_at != entry.ended_at;
  const bool tells = live != entry.live || begun != entry.begun || ended_anew;
  entry.begun = begun;
  if (live != entry.live) {
    entry.live = live;
    if (!live) {  // before unlink, which may make it forgettable
      entry.ended_at = job.ended_at;
      if (job.array) note_end(state, indexes, job);
    }
    if (live) {
      if (!added) --indexes.ended_count;
      link(state, indexes, job);
    } else {
      ++indexes.ended_count;
      if (!added) unlink(state, indexes, job);
    }
    if (job.array) set_array_forgettable(state, indexes, job.array);
    set_forgettable(indexes, job);
    if (live) entry.ended_at = {};
  }
  if (active != entry.active) {
    entry.active = active;
    if (job.array) indexes.arrays[job.array].active += active ? 1 : -1;
  }
  note_victim(indexes, job);
  count_end(state, indexes, job, entry);
  set_wake(indexes.job_wakes, id, entry.wake, wake_of(state, job, &indexes.singletons));
  // Shares depend on what is held, and to work them out again is dear: only when it has really
  // changed, and only if some order reads them.
  if (count_places(job, entry) && indexes.tree.depends_on_usage()) {
    state.accounts.of(state, job);
    indexes.tree.usage_changed(indexes.tree.holder_of(job));
  }
  // Those who wait for this job, or for its array, may have become eligible or lost all hope. No
  // other change of it is any of theirs.
  if (tells) {
    check_waiters(indexes, id);
    if (job.array && job.array != id) check_waiters(indexes, job.array);
  }
  switch (job.phase) {
    case JobPhase::kWaiting:
      indexes.to_check.insert(id);
      if (job.cancel_requested) indexes.to_finish.insert(id);
      return;
    case JobPhase::kActive:
      // It left the queue: to be queued again it needs a new key anyway.
      dequeue(indexes, entry);
      indexes.to_finish.insert(id);
      indexes.to_start.insert(id);
      return;
    case JobPhase::kEnded:
      dequeue(indexes, entry);
      return;
  }
}

void sync_wake(const State& state, Indexes& indexes, JobId id) {
  const Job* job = state.find_job(id);
  const auto entry = indexes.jobs.find(id);
  if (job == nullptr || entry == indexes.jobs.end()) return;
  set_wake(indexes.job_wakes, id, entry->second.wake, wake_of(state, *job, &indexes.singletons));
}

namespace {

// Nodes that are promised to somebody, and that these jobs may be gone from sooner than was known:
// there may be more room beside the promise.
void add_promised_nodes(const State& state, const Plan& plan, const std::vector<JobId>& jobs,
                        std::vector<NodeId>& out) {
  if (state.promises.empty()) return;
  for (JobId id : jobs) {
    const Job* job = state.find_job(id);
    if (job == nullptr || job->phase != JobPhase::kActive) continue;
    for (const PlacementRecord& record : job->attempts.back().placements) {
      if (plan.promised.contains(record.placement->node)) out.push_back(record.placement->node);
    }
  }
}

}  // namespace

void sync(State& state, Indexes& indexes) {
  // In this order: nodes with less, with more, then those of which anything may have changed. What
  // is freed is known only when all of them are in.
  auto& [jobs, touched, given, freed, taken] = indexes.batch;
  Changes& changes = state.changes;
  // Ascending and each once, whatever the order in which the fold touched them: decisions must not
  // depend on it.
  take_sorted(changes.nodes_allocated, taken);
  for (NodeId id : taken) sync_free(state, indexes, id);
  take_sorted(changes.nodes_released, given);
  for (NodeId id : given) sync_free(state, indexes, id);
  take_sorted(changes.nodes, touched);
  for (NodeId id : touched) sync_node(state, indexes, id);
  freed.clear();
  std::set_union(given.begin(), given.end(), touched.begin(), touched.end(),
                 std::back_inserter(freed));
  take_sorted(changes.jobs, jobs);
  ReadAhead read_ahead(state, false);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    read_ahead.before([&] { return std::span(jobs).subspan(i); });
    sync_job(state, indexes, jobs[i]);
  }
  const bool usage_fell = std::exchange(changes.usage_fell, false);
  const bool plan_changed = note_changes(state, indexes.plan, {taken, freed, jobs, usage_fell});
  if (plan_changed) indexes.books.move_on();
  // Jobs may be gone sooner from promised nodes; that too can open a class.
  const std::size_t freed_now = freed.size();
  add_promised_nodes(state, indexes.plan, jobs, freed);
  if (usage_fell || freed.size() > freed_now) indexes.books.move_on();
  if (!freed.empty() || usage_fell) reopen(state, indexes, freed, usage_fell);
}

void prepare(State& state, Indexes& indexes, const Policies& policies,
             const CycleOptions& options) {
  const bool by_order_policy = options.runs(Pass::kOrder);
  const Policies& used = indexes.policies;
  // Kept indexes are good for this State under these policies in this month. Anything else: build
  // anew.
  if (!state.changes.is_followed() || used.order != policies.order ||
      used.orders != policies.orders || used.placement != policies.placement ||
      used.scores != policies.scores || indexes.by_order_policy != by_order_policy ||
      indexes.plan.boundary <= state.now || indexes.month != month_of(state.now)) {
    build(state, indexes, policies, by_order_policy);
  }
  sync(state, indexes);
}

}  // namespace dove::core
