#include "core/cycle/equivalence_class.h"

#include <algorithm>

#include "base/digest.h"
#include "core/cycle/indexes.h"
#include "core/place/fit.h"
#include "core/place/limits.h"
#include "core/place/place.h"
#include "core/place/reservation.h"
#include "core/state/dependency.h"
#include "core/state/findings.h"

namespace dove::core {
namespace {

// What a preempted job has saved of its time limit, where an earlier end helps it to a place:
// before its deadline, or the end of its reservation.
Span saved_by(const Job& job) {
  const JobSpec& spec = *job.spec;
  const bool ends_by = spec.deadline.us > 0 || !spec.reservation.empty();
  return ends_by && spec.preempt == Preempt::kCheckpoint ? job.ran_before : Span{};
}

void add(Digest& digest, const Request& request) {
  digest.add(static_cast<std::uint64_t>(request.cores));
  digest.add(static_cast<std::uint64_t>(request.memory_bytes));
  digest.add(static_cast<std::uint64_t>(request.gpus));
  digest.add(static_cast<std::uint64_t>(request.share_milli));
  digest.add(static_cast<std::uint64_t>(request.gpu_memory_bytes));
  digest.add(request.gpu_model);
  digest.add(request.slice);
  digest.add(static_cast<std::uint64_t>(request.slices));
  digest.add(request.countables.size());
  // Their number only: a digest narrows the search, same_class decides. The same goes for all that
  // is left out below.
}

JobId limiting_array(const Job& job) {
  // Elements of an array with a limit of its own share its count, which jobs of other arrays do not
  // have.
  return job.spec->array.running_max > 0 ? job.array : JobId{};
}

std::uint64_t class_digest(const Job& job) {
  const JobSpec& spec = *job.spec;
  Digest digest;
  digest.add(spec.user);
  digest.add(spec.queue);
  digest.add(spec.pool);
  digest.add(static_cast<std::uint64_t>(spec.time_limit.us));
  digest.add(static_cast<std::uint64_t>(spec.deadline.us));
  digest.add(spec.reservation);
  digest.add(limiting_array(job).value);
  digest.add(static_cast<std::uint64_t>(job.priority));
  digest.add(static_cast<std::uint64_t>(comes_first(job)));
  digest.add(static_cast<std::uint64_t>(guest_of(job).restart_nodes));
  digest.add(static_cast<std::uint64_t>(saved_by(job).us));
  for (const TaskGroup& group : spec.groups) {
    digest.add(static_cast<std::uint64_t>(group.tasks));
    digest.add(static_cast<std::uint64_t>(group.nodes_min));
    digest.add(static_cast<std::uint64_t>(group.tasks_per_node));
    digest.add(static_cast<std::uint64_t>(group.affinity));
    add(digest, group.per_task);
    add(digest, group.per_node);
  }
  digest.add(spec.domain);
  digest.add(spec.label);
  digest.add(spec.executor);
  for (NodeId node : job.nodes_avoided) digest.add(node.value);
  return digest.value();
}

bool same_shape(const TaskGroup& a, const TaskGroup& b) {
  // Does not compile once there is another field, which then belongs below.
  [[maybe_unused]] const auto& [name, tasks, nodes_min, nodes_max, tasks_per_node, per_task,
                                per_node, affinity] = a;
  return a.tasks == b.tasks && a.nodes_min == b.nodes_min && a.nodes_max == b.nodes_max &&
         a.tasks_per_node == b.tasks_per_node && a.per_task == b.per_task &&
         a.per_node == b.per_node && a.affinity == b.affinity;
}

// Whether the same promises (core/plan/promise.cc) and reservations bind it: an order need not
// look at these.
bool same_standing(const EquivalenceClass& it, const Job& job) {
  return it.priority == job.priority && it.comes_first == comes_first(job) &&
         it.restart_nodes == guest_of(job).restart_nodes && it.saved == saved_by(job);
}

// A test changes each field of a JobSpec: one that no verdict depends on is named there.
bool same_class(const EquivalenceClass& it, const Job& job) {
  if (it.array != limiting_array(job) || it.avoided != job.nodes_avoided) return false;
  if (!same_standing(it, job)) return false;
  // Elements of an array share their spec, so most comparisons end here.
  if (it.spec == job.spec) return true;
  const JobSpec& a = *it.spec;
  const JobSpec& b = *job.spec;
  return a.user == b.user && a.queue == b.queue && a.pool == b.pool &&
         a.time_limit == b.time_limit && a.exclusive == b.exclusive && a.features == b.features &&
         a.nodes_wanted == b.nodes_wanted && a.nodes_excluded == b.nodes_excluded &&
         a.kill_grace == b.kill_grace && a.preempt == b.preempt &&
         a.checkpoint_grace == b.checkpoint_grace && a.slice_min == b.slice_min &&
         a.deadline == b.deadline && a.reservation == b.reservation && a.project == b.project &&
         a.cluster_requests == b.cluster_requests && a.spread == b.spread && a.domain == b.domain &&
         a.domain_required == b.domain_required && a.label == b.label &&
         a.near_labels == b.near_labels && a.apart_labels == b.apart_labels &&
         a.executor == b.executor &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), same_shape);
}

NodeNeeds least_task_of(const JobSpec& spec) {
  NodeNeeds least = needs_of(spec.groups.front(), 1);
  for (const TaskGroup& group : spec.groups) {
    const NodeNeeds needs = needs_of(group, 1);
    least.gpus_milli = std::min(least.gpus_milli, needs.gpus_milli);
    least.cores = std::min(least.cores, needs.cores);
  }
  return least;
}

std::uint64_t class_for(const State& state, Indexes& indexes, const Job& job) {
  const std::uint64_t digest = class_digest(job);
  const auto [begin, end] = indexes.classes_by_digest.equal_range(digest);
  // Several classes of one digest are possible, if rare: nobody's verdict is another's by accident
  // of a hash.
  for (auto at = begin; at != end; ++at) {
    if (same_class(indexes.classes.at(at->second), job)) return at->second;
  }
  const std::uint64_t id = indexes.classes.add();
  EquivalenceClass& made = indexes.classes.at(id);
  made.digest = digest;
  made.spec = job.spec;
  made.avoided = job.nodes_avoided;
  made.array = limiting_array(job);
  made.priority = job.priority;
  made.comes_first = comes_first(job);
  made.restart_nodes = guest_of(job).restart_nodes;
  made.saved = saved_by(job);
  made.pool = pool_index_of(state, indexes, *job.spec);
  made.least = least_amount(*job.spec);
  made.needs = needs_of(*job.spec);
  made.least_task = least_task_of(*job.spec);
  made.monotone = search_is_monotone(*job.spec);
  made.user_queue = indexes.tree.user_queue_of(*job.spec);
  indexes.classes_by_digest.emplace(digest, id);
  return id;
}

// Keeps the tree in step with the class's first job and verdict.
void place_in_tree(Indexes& indexes, std::uint64_t id, EquivalenceClass& it) {
  std::optional<QueueKey> head;
  if (!it.jobs.empty()) head = *it.jobs.begin();
  const bool open = it.verdict == Verdict::kOpen;
  // Updates of the tree cost a walk to its root; most changes of a class leave its first job as it
  // is.
  if (head == it.head && open == it.open) return;
  indexes.tree.update(it.user_queue, id, it.head, head, open);
  it.head = head;
  it.open = open;
}

// Every class without a place is compared with every freed node. The note lies in one line of
// memory, the node's books in many, and on a busy cluster most nodes are too full for most classes:
// those are told apart by the note. Memory is left to the books, where a job that asks for none
// always fits.
bool may_fit_one(const IndexedNode& entry, const NodeNeeds& least) {
  return entry.available && entry.free.gpus_milli >= least.gpus_milli &&
         entry.free.cores >= least.cores;
}

bool helped_by(const State& state, const Indexes& indexes, const EquivalenceClass& it,
               const std::vector<NodeId>& freed) {
  return std::any_of(freed.begin(), freed.end(), [&](NodeId id) {
    return may_fit_one(indexes.nodes[id], it.least_task) &&
           could_help(state.nodes[id], *indexes.policies.placement, *it.spec);
  });
}

}  // namespace

// Sets by verdict, so that what reopens a class (something freed, usage fell) visits only those
// that it concerns.
void set_verdict(Indexes& indexes, std::uint64_t id, Verdict verdict) {
  EquivalenceClass& it = indexes.classes.at(id);
  if (it.verdict == Verdict::kNoPlace) indexes.no_place.erase(id);
  if (it.verdict == Verdict::kOverLimit) indexes.over_limit.erase(id);
  if (it.verdict == Verdict::kChanging) indexes.changing.erase(id);
  if (verdict == Verdict::kChanging) indexes.changing.insert(id);
  if (verdict == Verdict::kNoPlace) indexes.no_place.insert(id);
  if (verdict == Verdict::kOverLimit) indexes.over_limit.insert(id);
  it.verdict = verdict;
  it.books = indexes.books;
  place_in_tree(indexes, id, it);
}

// Sums over the pool's nodes: when they do not suffice, no search can find places. It costs three
// comparisons.
bool is_too_much(const EquivalenceClass& it) { return !covers(it.pool->free, it.needs); }

void close_too_much(State& state, Indexes& indexes, const PoolIndex* pool) {
  for (std::uint64_t id = 1; id <= indexes.classes.last(); ++id) {
    EquivalenceClass* it = indexes.classes.find(id);
    const bool is_tried = it != nullptr && it->open && it->head && it->pool == pool;
    // Not monotone: less that is free could mean places, so sums say nothing.
    if (!is_tried || !it->monotone || !is_too_much(*it)) continue;
    // In a queue of strict order the first job holds the others back, so only a search closes it.
    const bool may_be_passed = !indexes.tree.is_strict(it->user_queue);
    if (may_be_passed && declared_obstacles(state, *it->spec).empty() &&
        !is_over_limit(state, indexes, *it)) {
      set_verdict(indexes, id, Verdict::kNoPlace);
    }
  }
}

// A job keeps its place as long as nothing changes about it: an equal key and an equal standing
// mean the same class.
void enqueue(const State& state, Indexes& indexes, const Job& job, IndexedJob& entry) {
  const std::int64_t rank =
      indexes.by_order_policy ? indexes.tree.order_of(job.spec->queue).rank(state, job) : 0;
  const QueueKey key{queue_rank(job, rank), job.submitted_seq, job.id};
  const bool stands = entry.equivalence_class != 0 && entry.key == key &&
                      same_standing(indexes.classes.at(entry.equivalence_class), job);
  if (!stands) {
    dequeue(indexes, entry);
    entry.equivalence_class = static_cast<std::uint32_t>(class_for(state, indexes, job));
    entry.key = key;
    EquivalenceClass& it = indexes.classes.at(entry.equivalence_class);
    if (it.jobs.empty()) it.waits_from = kNever;
    it.jobs.insert(key);
    place_in_tree(indexes, entry.equivalence_class, it);
  }
  EquivalenceClass& it = indexes.classes.at(entry.equivalence_class);
  it.waits_from = std::min(it.waits_from, waits_again_at(job));
}

void dequeue(Indexes& indexes, IndexedJob& entry) {
  if (entry.equivalence_class == 0) return;
  EquivalenceClass& it = indexes.classes.at(entry.equivalence_class);
  it.jobs.erase(entry.key);
  place_in_tree(indexes, entry.equivalence_class, it);
  entry.equivalence_class = 0;
}

bool array_is_full(const Indexes& indexes, const EquivalenceClass& it) {
  if (!it.array) return false;
  const auto array = indexes.arrays.find(it.array);
  return array != indexes.arrays.end() && array->second.active >= it.spec->array.running_max;
}

bool is_over_limit(State& state, const Indexes& indexes, EquivalenceClass& it) {
  return array_is_full(indexes, it) ||
         !is_within_limits(state, *it.spec, state.accounts.of(state, *it.spec, it.account),
                           it.least);
}

void reopen(State& state, Indexes& indexes, const std::vector<NodeId>& freed, bool usage_fell) {
  std::vector<std::uint64_t> again;
  // By class, not by job: a million waiting jobs of a hundred shapes are a hundred questions.
  for (std::uint64_t id : indexes.no_place) {
    if (helped_by(state, indexes, indexes.classes.at(id), freed)) again.push_back(id);
  }
  // What a limit keeps out does not care for what is free.
  if (usage_fell) {
    for (std::uint64_t id : indexes.over_limit) {
      EquivalenceClass& it = indexes.classes.at(id);
      if (it.jobs.empty() || !is_over_limit(state, indexes, it)) again.push_back(id);
    }
  }
  for (std::uint64_t id : again) set_verdict(indexes, id, Verdict::kOpen);
}

bool reopen_all(Indexes& indexes, const std::set<std::uint64_t>& tried) {
  bool any = false;
  for (std::uint64_t id = 1; id <= indexes.classes.last(); ++id) {
    const EquivalenceClass* it = indexes.classes.find(id);
    const bool is_closed = it != nullptr && it->verdict != Verdict::kOpen;
    if (!is_closed || it->jobs.empty() || tried.contains(id)) continue;
    set_verdict(indexes, id, Verdict::kOpen);
    any = true;
  }
  return any;
}

void reopen_changing(Indexes& indexes) {
  // To change a verdict changes the set that is walked here.
  std::vector<std::uint64_t> again;
  for (std::uint64_t id : indexes.changing) {
    const bool changed = indexes.classes.at(id).books != indexes.books;
    // Others will be tried in this cycle: what they start or are promised may be what these
    // searches stumble on.
    if (changed || indexes.tree.any_open()) again.push_back(id);
  }
  for (std::uint64_t id : again) set_verdict(indexes, id, Verdict::kOpen);
}

void purge_classes(Indexes& indexes) {
  constexpr std::size_t kClasses_kept = 4096;
  // Classes without jobs are kept for the next job of their shape. Too many of them would only make
  // every walk over the classes longer.
  if (indexes.classes.size() <= kClasses_kept) return;
  for (std::uint64_t id = 1; id <= indexes.classes.last(); ++id) {
    const EquivalenceClass* it = indexes.classes.find(id);
    if (it == nullptr || !it->jobs.empty()) continue;
    // A closed verdict takes it out of every set and out of the tree.
    set_verdict(indexes, id, Verdict::kDeclared);
    indexes.plan.without_plan.erase(id);
    const auto [begin, end] = indexes.classes_by_digest.equal_range(it->digest);
    // Several entries may have this digest; only its own is erased.
    for (auto entry = begin; entry != end; ++entry) {
      if (entry->second == id) {
        indexes.classes_by_digest.erase(entry);
        break;
      }
    }
    indexes.classes.drop(id);
  }
}

}  // namespace dove::core
