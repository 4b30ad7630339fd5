#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"
#include "core/backfill.h"
#include "core/books.h"
#include "core/care.h"
#include "core/dependency.h"
#include "core/derived.h"
#include "core/explain_domain.h"
#include "core/fit.h"
#include "core/hostlist.h"
#include "core/limits.h"
#include "core/place.h"
#include "core/queue_tree.h"
#include "core/step.h"
#include "core/victim_explain.h"
#include "core/what_if.h"

namespace dove::core {
namespace {

Reason reason(ReasonKind kind, std::string subject = "") {
  Reason made;
  made.kind = kind;
  made.subject = std::move(subject);
  return made;
}

const char* word(DependencyKind kind) {
  switch (kind) {
    case DependencyKind::kAfter:
      return "after";
    case DependencyKind::kAfterOk:
      return "afterok";
    case DependencyKind::kAfterNotOk:
      return "afternotok";
    case DependencyKind::kAfterAny:
      return "afterany";
    case DependencyKind::kAfterCorr:
      return "aftercorr";
    case DependencyKind::kSingleton:
      return "singleton";
  }
  return "";
}

void add_dependencies(const State& state, const Job& job, std::vector<Reason>& out) {
  if (job.eligible_at.us != 0 || check_dependencies(state, job).level == DependencyLevel::kMet) {
    return;
  }
  for (const Dependency& one : job.spec->dependencies) {
    const DependencyVerdict verdict = check_dependency(state, job, one);
    if (verdict.level == DependencyLevel::kMet) continue;
    Reason made = reason(ReasonKind::kDependency, word(one.kind));
    made.other = verdict.other;
    if (verdict.until != kNever) made.until = verdict.until;
    out.push_back(std::move(made));
  }
}

void add_array(const State& state, const Job& job, std::vector<Reason>& out) {
  const std::int32_t limit = job.spec->array.running_max;
  if (limit <= 0 || !job.array) return;
  Reason made = reason(ReasonKind::kArrayLimit);
  made.limit = limit;
  for (auto at = state.jobs.lower_bound(job.array); at != state.jobs.end(); ++at) {
    if (at->second.array != job.array) break;
    if (at->second.phase == JobPhase::kActive) ++made.used;
  }
  if (made.used >= limit) out.push_back(std::move(made));
}

// One kind of resource of a request, to be looked at alone.
struct Kind {
  std::string name;
  std::function<void(Request&)> keep;  // clears all other kinds
  std::function<std::int64_t(const Request&)> asked;
  std::function<std::int64_t(const FreeView&)> free;
};

std::int64_t free_whole_devices(const FreeView& free, const Request& request) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < free.devices_milli.size(); ++i) {
    const bool whole = free.devices_milli[i] >= kWholeDevice_milli;
    if (whole && matches(request, free.inventory->devices[i])) ++count;
  }
  return count;
}

std::int64_t largest_share(const FreeView& free, const Request& request) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < free.devices_milli.size(); ++i) {
    if (!matches(request, free.inventory->devices[i]) || is_sliced(free.slots_taken, i)) continue;
    most = std::max<std::int64_t>(most, free.devices_milli[i]);
  }
  return most;
}

// The first request of the job that asks for devices of this kind.
Request device_request(const JobSpec& spec, std::int32_t Request::*amount) {
  for (const TaskGroup& group : spec.groups) {
    for (const Request* request : {&group.per_task, &group.per_node}) {
      if (request->*amount > 0) return *request;
    }
  }
  return {};
}

// So many slices of the profile have room.
std::int64_t free_slices(const FreeView& free, Request request) {
  if (request.slices == 0) return 0;
  request.slices = 1;
  return device_capacity(free.devices(), request, std::numeric_limits<std::int32_t>::max());
}

std::vector<Kind> kinds_of(const JobSpec& spec) {
  std::vector<Kind> kinds;
  kinds.push_back({"cores",
                   [](Request& r) {
                     Request only;
                     only.cores = r.cores;
                     r = only;
                   },
                   [](const Request& r) { return std::int64_t{r.cores}; },
                   [](const FreeView& n) { return static_cast<std::int64_t>(n.cores.size()); }});
  kinds.push_back({"memory_bytes",
                   [](Request& r) {
                     Request only;
                     only.memory_bytes = r.memory_bytes;
                     r = only;
                   },
                   [](const Request& r) { return r.memory_bytes; },
                   [](const FreeView& n) { return std::max<std::int64_t>(n.memory_bytes, 0); }});
  const auto devices = [](Request& r) {
    r.cores = 0;
    r.memory_bytes = 0;
    r.countables.clear();
  };
  kinds.push_back({"gpus", devices, [](const Request& r) { return std::int64_t{r.gpus}; },
                   [wanted = device_request(spec, &Request::gpus)](const FreeView& n) {
                     return free_whole_devices(n, wanted);
                   }});
  kinds.push_back({"share_milli", devices,
                   [](const Request& r) { return std::int64_t{r.share_milli}; },
                   [wanted = device_request(spec, &Request::share_milli)](const FreeView& n) {
                     return largest_share(n, wanted);
                   }});
  const Request sliced = device_request(spec, &Request::slices);
  kinds.push_back({"slice:" + sliced.slice, devices,
                   [](const Request& r) { return std::int64_t{r.slices}; },
                   [sliced](const FreeView& n) { return free_slices(n, sliced); }});
  std::set<std::string> names;
  for (const TaskGroup& group : spec.groups) {
    for (const Countable& one : group.per_task.countables) names.insert(one.name);
    for (const Countable& one : group.per_node.countables) names.insert(one.name);
  }
  for (const std::string& name : names) {
    kinds.push_back({name,
                     [name](Request& r) {
                       Request only;
                       const std::int64_t amount = amount_of(r.countables, name);
                       if (amount != 0) only.countables = {{name, amount}};
                       r = only;
                     },
                     [name](const Request& r) { return amount_of(r.countables, name); },
                     [name](const FreeView& n) { return amount_of(*n.countables, name); }});
  }
  return kinds;
}

std::int32_t least_nodes(const TaskGroup& group) {
  const std::int32_t per_node = group.tasks_per_node;
  const std::int32_t for_tasks = per_node > 0 ? (group.tasks + per_node - 1) / per_node : 1;
  return std::max(group.nodes_min, for_tasks);
}

// The resources of which there is too little even when nothing else is asked for; when each alone
// would do, the nodes that have them together are what is missing.
void add_shortages(const WhatIf& now, const WhatIf& empty, ReasonKind kind, const JobSpec& spec,
                   std::vector<Reason>& out) {
  std::int64_t nodes_needed = 0;
  for (const TaskGroup& group : spec.groups) nodes_needed += least_nodes(group);
  const auto matching = static_cast<std::int64_t>(empty.matching(spec).size());
  const std::size_t before = out.size();
  for (const Kind& each : kinds_of(spec)) {
    if (nodes_needed > matching) break;  // of each there is too little, for want of nodes
    JobSpec only = spec;
    Reason made = reason(kind);
    for (TaskGroup& group : only.groups) {
      made.needs += group.tasks * each.asked(group.per_task) +
                    std::max(group.nodes_min, 1) * each.asked(group.per_node);
      each.keep(group.per_task);
      each.keep(group.per_node);
    }
    if (made.needs == 0 || now.fits(only)) continue;
    made.resource = each.name;
    for (const Node* node : now.matching(spec)) {
      made.free = std::max(made.free, each.free(now.view(node->id)));
    }
    for (const Node* node : empty.matching(spec)) made.total += each.free(empty.view(node->id));
    out.push_back(std::move(made));
  }
  if (out.size() > before) return;
  Reason made = reason(kind);
  made.resource = "nodes";
  made.needs = nodes_needed;
  made.free = now.count_with_room(spec);
  made.total = matching;
  out.push_back(std::move(made));
}

// There is room, but limits (of models of GPU) hang on which nodes it is on.
void add_limits_of_places(const State& state, const WhatIf& now, const PlacementPolicy& policy,
                          const JobSpec& spec, std::vector<Reason>& out) {
  if (!broken_limits(state, spec, least_amount(spec), true).empty()) return;  // told already
  const auto places = find_places(now.candidates(), policy, spec, {});
  if (!places) return;
  for (Reason& one : broken_limits(state, spec, amount_of(state, *places), false)) {
    out.push_back(std::move(one));
  }
}

void add_places(const State& state, const Policies& policies, const Job& job,
                std::vector<Reason>& out) {
  const JobSpec& spec = *job.spec;
  const Pool* pool = pool_of(state, spec);
  if (pool == nullptr) return;
  const PlacementPolicy& policy = *policies.placement;
  const WhatIf now(state, policy, *pool, WhatIf::Books::kAsTheyAre, WhatIf::Nodes::kAvailable);
  if (now.fits(spec)) {
    add_limits_of_places(state, now, policy, spec, out);
    return;
  }
  const WhatIf empty(state, policy, *pool, WhatIf::Books::kEmpty, WhatIf::Nodes::kAll);
  JobSpec anywhere = spec;
  anywhere.nodes_wanted.clear();
  anywhere.nodes_excluded.clear();
  const bool chooses = !spec.nodes_wanted.empty() || !spec.nodes_excluded.empty();
  if (chooses && (now.fits(anywhere) || (!empty.fits(spec) && empty.fits(anywhere)))) {
    Reason made = reason(ReasonKind::kExcluded);
    made.count = static_cast<std::int64_t>(empty.matching(spec).size());
    made.total = static_cast<std::int64_t>(empty.matching(anywhere).size());
    out.push_back(std::move(made));
  }
  if (!empty.fits(spec)) {
    if (add_unit_too_small(empty, policy, spec, out)) return;
    add_shortages(empty, empty, ReasonKind::kNeverFits, spec, out);
    return;
  }
  if (now.size() < empty.size()) {
    const WhatIf all(state, policy, *pool, WhatIf::Books::kAsTheyAre, WhatIf::Nodes::kAll);
    const WhatIf up(state, policy, *pool, WhatIf::Books::kEmpty, WhatIf::Nodes::kAvailable);
    const bool fits_up = up.fits(spec);
    if (all.fits(spec) || !fits_up) {
      Reason made = reason(ReasonKind::kNodesUnavailable);
      made.total = static_cast<std::int64_t>(all.matching(spec).size());
      made.count = made.total - static_cast<std::int64_t>(now.matching(spec).size());
      out.push_back(std::move(made));
    }
    if (!fits_up) return;
  }
  if (add_labels(state, now, spec, out)) return;
  if (add_unit_too_full(now, policy, spec, out)) return;
  add_shortages(now, empty, ReasonKind::kResources, spec, out);
  add_fragments(now, policy, spec, out);
}

// Jobs of the same pool that are tried before this one. Which users and queues come first by their
// share changes with every launch: there only those of the same user and queue are counted.
void add_ahead(const State& state, const Policies& policies, const Job& job,
               std::vector<Reason>& out) {
  const OrderPolicy& own = order_of(state, policies, job.spec->queue);
  const auto key = [&](const OrderPolicy& order, const Job& each) {
    return QueueKey{queue_rank(each, order.rank(state, each)), each.submitted_seq, each.id};
  };
  const QueueKey mine = key(own, job);
  const Pool* pool = pool_of(state, *job.spec);
  std::map<std::string, const OrderPolicy*> orders;
  for (const auto& [name, queue] : state.queues) orders[name] = &order_of(state, policies, name);
  Reason made = reason(ReasonKind::kAhead);
  std::optional<QueueKey> next;
  for (const auto& [id, other] : state.jobs) {
    if (other.phase != JobPhase::kWaiting || other.held || id == job.id) continue;
    if (pool_of(state, *other.spec) != pool || startable_at(state, other) > state.now) continue;
    const auto order = orders.find(other.spec->queue);
    if (order == orders.end() || order->second != &own) continue;
    const bool alike = other.spec->queue == job.spec->queue && other.spec->user == job.spec->user;
    if (own.basis() != Basis::kJob && !alike) continue;
    const QueueKey theirs = key(own, other);
    if (!(theirs < mine)) continue;
    ++made.count;
    if (!next || *next < theirs) next = theirs;
  }
  if (!next) return;
  made.other = next->job;
  out.push_back(std::move(made));
}

}  // namespace

std::vector<Reason> explain(const State& state, const Policies& policies, JobId id) {
  const Job* job = state.find_job(id);
  CHECK(job != nullptr, "explain is asked about jobs that exist");
  std::vector<Reason> out;
  if (job->phase != JobPhase::kWaiting) return out;
  const JobSpec& spec = *job->spec;
  if (job->held) {
    const bool by_requeues = job->requeues_in_a_row >= state.settings.requeues_max;
    out.push_back(reason(ReasonKind::kHeld, by_requeues ? "" : spec.user));
    if (by_requeues) out.back().count = job->requeues_in_a_row;
  }
  if (spec.begin_at > state.now) {
    out.push_back(reason(ReasonKind::kBeginTime));
    out.back().until = spec.begin_at;
  }
  add_dependencies(state, *job, out);
  add_array(state, *job, out);
  for (Reason& one : broken_limits(state, spec, least_amount(spec), false)) {
    out.push_back(std::move(one));
  }
  for (Reason& one : declared_obstacles(state, spec)) out.push_back(std::move(one));
  const std::size_t before = out.size();
  add_places(state, policies, *job, out);
  if (out.size() > before) {
    add_ahead(state, policies, *job, out);
    if (auto preemption = explain_victims(state, policies, *job)) out.push_back(*preemption);
  }
  explain_plan(state, policies, *job, out);
  return out;
}

}  // namespace dove::core
