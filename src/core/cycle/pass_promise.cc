// The pass kPromise: promises are made to the first blocked jobs of each queue, kept, moved
// forward, withdrawn, and launched in their turn.
#include <algorithm>
#include <optional>

#include "core/cycle/promises.h"
#include "core/cycle/void_promise.h"
#include "core/place/limits.h"
#include "core/place/place.h"
#include "core/plan/earlier_start.h"
#include "core/plan/lent_plan.h"
#include "core/plan/planner.h"
#include "core/plan/promise.h"
#include "core/state/books.h"
#include "core/state/findings.h"
#include "core/state/holders/month_use.h"
#include "core/state/restored/restored.h"

namespace dove::core {
namespace {

// How many jobs of a queue may turn out to have no plan before it is left for this cycle.
constexpr std::size_t kFailures_max = 8;

// Something other than places keeps the jobs of the class waiting.
bool is_refused(const State& state, const Indexes& indexes, const EquivalenceClass& it) {
  return !declared_obstacles(state, *it.spec).empty() || array_is_full(indexes, it) ||
         !broken_limits(state, *it.spec, least_amount(*it.spec), true).empty();
}

bool is_over(const State& state, const JobSpec& spec, const std::vector<Placement>& places) {
  return !broken_limits(state, spec, amount_of(state, places), true).empty();
}

// One promised job that is tried.
class Attempted {
 public:
  Attempted(Cycle& cycle, JobId job, const EquivalenceClass& it)
      : cycle_(cycle),
        state_(cycle.state),
        plan_(cycle.indexes.plan),
        job_(*state_.find_job(job)),
        spec_(*job_.spec),
        promise_(state_.promises.at(job)),
        class_(it),
        behind_(promises_behind(state_, job_)) {
    const Instant end = stay_of(state_, spec_).end(state_.now);
    claim_ = {&spec_, guest_of(job_).restart_nodes, job, state_.now, end, kNever, &behind_};
  }

  bool is_due() const { return promise_.start_at <= state_.now; }
  const std::set<JobId>& behind() const { return behind_; }

  std::optional<std::vector<Placement>> places() {
    // Its own places first: the search could find others, and give away what was kept for it.
    if (promised_are_free(kNever)) return promise_.placements;
    PlannedBooks planned(state_, plan_, claim_);
    Candidates candidates;
    candidates.ranked = &pool_index_of(state_, cycle_.indexes, spec_)->nodes;
    candidates.nodes = &state_.nodes.by_id();
    candidates.jobs = &state_.jobs;
    candidates.executors = &state_.executors;
    candidates.free = &planned;
    candidates.spares_last = planned.takes_spares();
    const PlacementPolicy& policy = *cycle_.policies.placement;
    auto found = find_places(candidates, policy, spec_, class_.avoided);
    if (!found && !class_.avoided.empty()) found = find_places(candidates, policy, spec_, {});
    if (found) return found;
    // It is due, and nothing else will do. The promises after it give way, for it comes before
    // them.
    if (!is_due() || !promised_are_free(promise_.start_at)) return std::nullopt;
    withdraw_later();
    return promise_.placements;
  }

 private:
  bool promised_are_free(Instant but_after) const {
    Claim claim = claim_;
    claim.but_after = but_after;
    return std::all_of(promise_.placements.begin(), promise_.placements.end(),
                       [&](const Placement& placement) {
                         const Node& node = state_.nodes[placement.node];
                         if (!is_available(node) || !labels_allow(spec_, node, state_.jobs))
                           return false;
                         const NodePlan& plan = plan_of(state_, plan_, placement.node);
                         return fits_during(state_, plan, node, claim, placement);
                       });
  }

  // It is late, and those that were to come after it are in its way.
  void withdraw_later() {
    std::set<JobId> later;
    for (const Placement& placement : promise_.placements) {
      for (const Hold& hold : plan_of(state_, plan_, placement.node).holds) {
        if (hold.promised && !hold.foreign && hold.job != job_.id &&
            hold.from > promise_.start_at && hold.from < claim_.to) {
          later.insert(hold.job);
        }
      }
    }
    for (JobId id : later) cycle_.emit(Withdraw{id});
  }

  Cycle& cycle_;
  const State& state_;
  Plan& plan_;
  const Job& job_;
  const JobSpec& spec_;
  const PromiseRecord& promise_;
  const EquivalenceClass& class_;
  const std::set<JobId> behind_;
  Claim claim_;
};

bool try_promised(Cycle& cycle, JobId id, const EquivalenceClass& it) {
  Attempted attempted(cycle, id, it);
  auto places = attempted.places();
  if (!places) return false;
  if (is_over(cycle.state, *it.spec, *places)) return false;
  const Job& job = *cycle.state.find_job(id);
  withdraw_behind(cycle, job, *places, attempted.behind());
  const AttemptNumber number = next_attempt(cycle.state, job);
  cycle.emit(Launch{id, number, shared(std::move(*places))});
  return true;
}

// What falls due is tried again, and given up when it is not for want of places that it waits.
void check_due(Cycle& cycle) {
  Indexes& indexes = cycle.indexes;
  std::vector<JobId> due;
  for (const auto& [id, promise] : cycle.state.promises) {
    if (promise.start_at <= cycle.state.now) due.push_back(id);
  }
  for (JobId id : due) {
    const auto job = indexes.jobs.find(id);
    if (job == indexes.jobs.end() || job->second.equivalence_class == 0) continue;
    const std::uint64_t class_id = job->second.equivalence_class;
    const EquivalenceClass& it = indexes.classes.at(class_id);
    const Amount amount = amount_of(cycle.state, cycle.state.promises.at(id).placements);
    if (is_refused(cycle.state, indexes, it) ||
        !broken_limits(cycle.state, *it.spec, amount, true).empty()) {
      cycle.emit(Withdraw{id});
      continue;
    }
    // What stands in its way may be gone though nothing was freed: another's promise, a stop.
    const Generation changes = indexes.plan.changes;
    if (std::exchange(indexes.plan.promises.at(id).due_at, changes) == changes) continue;
    set_verdict(indexes, class_id, Verdict::kOpen);
  }
}

// The blocked jobs of one queue, in its order.
class Blocked {
 public:
  void add(std::uint64_t id, const EquivalenceClass& it) { next_.insert({*it.jobs.begin(), id}); }

  bool empty() const { return next_.empty(); }
  JobId job() const { return next_.begin()->first.job; }
  std::uint64_t equivalence_class() const { return next_.begin()->second; }

  void pass_over_class() { next_.erase(next_.begin()); }
  void pass_over_job(const EquivalenceClass& it) {
    const auto [key, id] = *next_.begin();
    next_.erase(next_.begin());
    const auto after = it.jobs.upper_bound(key);
    // The next of its class only: a class may be a thousand jobs long, and a few of them get
    // promises.
    if (after != it.jobs.end()) next_.insert({*after, id});
  }

 private:
  std::set<std::pair<QueueKey, std::uint64_t>> next_;
};

// The search for uneven gangs may find a later instant than its places would do for.
void start_earlier(const State& state, Plan& all, JobId job, Planned& planned) {
  PlannedPromise entry;
  PromiseRecord record{planned.start_at, state.now, std::move(planned.placements)};
  if (const auto at = earlier_start(state, all, job, record, entry)) planned.start_at = *at;
  planned.placements = std::move(record.placements);
}

// Whether to look again when nothing but time has changed.
bool promise_first(Cycle& cycle, Planner& planner, Blocked& blocked, std::int32_t free) {
  State& state = cycle.state;
  Indexes& indexes = cycle.indexes;
  bool looks = false;
  std::vector<std::uint64_t> failed;
  // A queue of jobs that cannot be planned must not take the cycle: EASY looks at one job, this at
  // the first few that fail.
  while (free > 0 && failed.size() < kFailures_max && !blocked.empty()) {
    const JobId id = blocked.job();
    const std::uint64_t class_id = blocked.equivalence_class();
    const EquivalenceClass& it = indexes.classes.at(class_id);
    if (state.promises.contains(id)) {
      blocked.pass_over_job(it);
      continue;
    }
    // Its verdict was found before others were promised places or usage fell.
    if (is_refused(state, indexes, it)) {
      blocked.pass_over_class();
      continue;
    }
    std::optional<Planned> planned;
    // Classes without a plan are remembered, for that is the dear answer: the planner has looked at
    // all nodes.
    if (!indexes.plan.without_plan.contains(class_id)) {
      planned = planner.find(*state.find_job(id));
      if (planner.gave_up_searching()) {
        indexes.plan.gave_up_at = indexes.plan.changes;
      } else if (!planned) {
        indexes.plan.without_plan.insert(class_id);
      }
      if (planned) start_earlier(state, indexes.plan, id, *planned);
    }
    // What has room now is kept waiting by something else, and may not have it later.
    const bool has_room = planned && planned->start_at <= state.now;
    if (has_room) looks = true;
    if (planned && is_over(state, *it.spec, planned->placements)) {
      // Other places may be within the limit, and come up when the plan changes.
      indexes.plan.gave_up_at = indexes.plan.changes;
      blocked.pass_over_class();
      continue;
    }
    if (!planned || has_room) {
      failed.push_back(class_id);
      blocked.pass_over_class();
      continue;
    }
    // Jobs of one class follow one another: the next may be promised the places behind this one's.
    blocked.pass_over_job(it);
    cycle.emit(Promise{id, planned->start_at, std::move(planned->placements), false});
    --free;
  }
  if (failed.size() == kFailures_max && !blocked.empty())
    indexes.plan.in_the_way.insert(failed.begin(), failed.end());
  return looks;
}

// Time alone uses up what a month allows. A class that is refused for that is not tried any more,
// and lets the next one of its queue be looked at.
bool gives_way(const State& state, const Indexes& indexes) {
  if (month_end(state) == kNever) return false;
  const auto& classes = indexes.plan.in_the_way;
  return std::any_of(classes.begin(), classes.end(), [&](std::uint64_t id) {
    const EquivalenceClass* it = indexes.classes.find(id);
    return it == nullptr || is_refused(state, indexes, *it);
  });
}

// Whether one of the nodes could in the end, with what it has then, have room for a task of the
// class. `most` is the most that any of them has.
bool is_helped(const EquivalenceClass& it, const std::vector<NodeFree>& grown,
               const NodeFree& most) {
  const auto& groups = it.spec->groups;
  return std::any_of(groups.begin(), groups.end(), [&](const TaskGroup& group) {
    const std::int32_t each = group.tasks_per_node;
    const NodeNeeds needs = needs_of(group, each > 0 && group.tasks % each == 0 ? each : 1);
    return covers(most, needs) && std::any_of(grown.begin(), grown.end(), [&](const NodeFree& one) {
             return covers(one, needs);
           });
  });
}

// Forgets which classes have no plan when that may have changed.
void renew_plans(const State& state, Indexes& indexes) {
  Plan& plan = indexes.plan;
  for (NodeId node : std::exchange(plan.stale, {})) {
    plan.nodes[node].listed = false;
    plan_of(state, plan, node);
  }
  std::vector<NodeFree> grown;
  NodeFree most;
  for (NodeId id : std::exchange(plan.grown, {})) {
    const NodeFree& free = grown.emplace_back(plan_of(state, plan, id).steps.back().free);
    most.gpus_milli = std::max(most.gpus_milli, free.gpus_milli);
    most.cores = std::max(most.cores, free.cores);
    most.memory_bytes = std::max(most.memory_bytes, free.memory_bytes);
  }
  // Where nothing is promised and nothing reserved, free amounts only grow with time, so what is
  // freed now changes nothing about the end. Otherwise a gap between promises may open, too.
  Plan::Version version{plan.endless_ended, std::nullopt};
  if (!plan.is_empty()) version.second = {plan.freed, plan.sooner};
  if (std::exchange(plan.without_plan_at, version) != version) return plan.without_plan.clear();
  std::erase_if(plan.without_plan, [&](std::uint64_t id) {
    const EquivalenceClass* it = indexes.classes.find(id);
    return it == nullptr || is_helped(*it, grown, most);
  });
}

// One look at every queue. Whether another look may find more: something was promised that a job
// which had room may have counted on.
bool promise_round(Cycle& cycle) {
  State& state = cycle.state;
  Indexes& indexes = cycle.indexes;
  indexes.plan.in_the_way.clear();
  if (!indexes.plan.has_future()) return false;
  std::map<std::string, std::int32_t> free;
  // What a queue may promise at a time (`promises`, 1 as in EASY backfill; Lifka, JSSPP 1995) less
  // what it has promised.
  for (const auto& [name, queue] : state.queues) free[name] = queue.promises;
  for (const auto& [id, promise] : state.promises) --free[state.find_job(id)->spec->queue];
  std::map<std::string, Blocked> blocked;
  for (const auto* classes : {&indexes.no_place, &indexes.changing}) {
    for (std::uint64_t id : *classes) {
      const EquivalenceClass& it = indexes.classes.at(id);
      // A job behind another that its queue must not pass is not promised anything either.
      if (it.jobs.empty() || indexes.tree.is_behind(it.user_queue, id)) continue;
      if (free[it.spec->queue] > 0) blocked[it.spec->queue].add(id, it);
    }
  }
  if (blocked.empty()) return false;
  renew_plans(state, indexes);
  Planner planner(state, indexes.plan, *cycle.policies.placement, indexes.pools);
  const std::size_t promises = state.promises.size();
  for (auto& [name, jobs] : blocked) {
    indexes.plan.looks |= promise_first(cycle, planner, jobs, free[name]);
  }
  return indexes.plan.looks && state.promises.size() > promises;
}

}  // namespace

void withdraw_behind(Cycle& cycle, const Job& job, const std::vector<Placement>& places,
                     const std::set<JobId>& ignored) {
  if (ignored.empty()) return;
  State& state = cycle.state;
  const JobSpec& spec = *job.spec;
  const Claim claim{&spec, guest_of(job).restart_nodes, job.id, state.now,
                    stay_of(state, spec).end(state.now)};
  std::set<JobId> hit;
  for (const Placement& placement : places) {
    const NodePlan& plan = plan_of(state, cycle.indexes.plan, placement.node);
    // Its places are free beside the promises behind it: nobody has to give way on this node.
    if (fits_during(state, plan, state.nodes[placement.node], claim, placement)) continue;
    for (const Hold& hold : plan.holds) {
      if (hold.promised && ignored.contains(hold.job)) hit.insert(hold.job);
    }
  }
  for (JobId id : hit) cycle.emit(Withdraw{id});
}

void keep_promises(Cycle& cycle) {
  Plan& plan = cycle.indexes.plan;
  check_due(cycle);
  plan.to_check.merge(plan.over_limits);
  plan.over_limits.clear();
  while (!plan.to_check.empty()) {
    const JobId id = *plan.to_check.begin();
    plan.to_check.erase(plan.to_check.begin());
    const auto promise = cycle.state.promises.find(id);
    if (promise == cycle.state.promises.end()) continue;
    if (is_void(cycle, id, promise->second)) {
      cycle.emit(Withdraw{id});
      continue;
    }
    const std::uint64_t class_id = cycle.indexes.jobs.at(id).equivalence_class;
    if (class_id == 0) continue;  // its pause has to be over first
    // Somebody else is being stopped for its limit: its places alone are of no use to it sooner,
    // and that a limit is kept again is no news of the plan.
    EquivalenceClass& it = cycle.indexes.classes.at(class_id);
    if (is_over_limit(cycle.state, cycle.indexes, it)) {
      plan.over_limits.insert(id);
      continue;
    }
    const auto at = earlier_start(cycle.state, plan, id, promise->second, plan.promises.at(id));
    // What is free now is launched next.
    if (at && *at > cycle.state.now)
      cycle.emit(Promise{id, *at, promise->second.placements, promise->second.cleared});
  }
}

bool launch_promised(Cycle& cycle, std::uint64_t equivalence_class) {
  if (cycle.state.promises.empty()) return false;
  const Indexes& indexes = cycle.indexes;
  const OrderedSet<QueueKey>& jobs = indexes.classes.at(equivalence_class).jobs;
  std::vector<std::pair<Instant, JobId>> in_order;
  // Whichever list is the shorter one: classes and promises may both be thousands.
  if (jobs.size() < cycle.state.promises.size()) {
    for (const QueueKey& key : jobs) {
      const auto promise = cycle.state.promises.find(key.job);
      if (promise != cycle.state.promises.end())
        in_order.push_back({promise->second.start_at, key.job});
    }
  } else {
    for (const auto& [id, promise] : cycle.state.promises) {
      const auto job = indexes.jobs.find(id);
      if (job == indexes.jobs.end() || job->second.equivalence_class != equivalence_class) continue;
      in_order.push_back({promise.start_at, id});
    }
  }
  std::sort(in_order.begin(), in_order.end());
  return std::any_of(in_order.begin(), in_order.end(), [&](const auto& entry) {
    return cycle.state.promises.contains(entry.second) &&
           try_promised(cycle, entry.second, indexes.classes.at(equivalence_class));
  });
}

Back promise(Cycle& cycle) {
  Indexes& indexes = cycle.indexes;
  Plan& plan = indexes.plan;
  if (!std::exchange(cycle.promises_kept, false)) {
    keep_promises(cycle);
    // A job that is to be tried once more is neither blocked nor started yet.
    reopen_changing(indexes);
    if (cycle.places && indexes.tree.any_open()) {
      cycle.promises_kept = true;
      return Pass::kPlace;
    }
  }
  if (plan.gave_up_at &&
      (*plan.gave_up_at != plan.changes || plan.gave_up_until <= cycle.state.now)) {
    plan.looks = true;
  }
  if (!plan.looks) plan.looks = gives_way(cycle.state, indexes);
  if (plan.looks) plan.gave_up_at.reset();
  // It ends: each round that goes on has made a promise, and a queue may make only a few.
  while (std::exchange(plan.looks, false) && promise_round(cycle)) continue;
  // What was promised may have come in the way of what could have been kept earlier.
  if (!plan.to_check.empty()) return Pass::kPromise;
  if (!plan.gave_up_at) return std::nullopt;
  plan.gave_up_until = kNever;
  for (const NodePlan& node : plan.nodes) {
    if (!node.stale) plan.gave_up_until = std::min(plan.gave_up_until, node.valid_until);
  }
  return std::nullopt;
}

}  // namespace dove::core
