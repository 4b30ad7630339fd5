#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "core/cycle/passes.h"
#include "core/place/limits.h"
#include "core/place/within_limits.h"
#include "core/plan/backfill.h"
#include "core/queue/dependency.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

bool is_ready(const State& state, const Job& job) {
  return job.phase == JobPhase::kWaiting && !job.held && !job.cancel_requested &&
         startable_at(state, job) <= state.now;
}

// On the node that scores best, if the job is of a kind that is scored.
std::optional<std::vector<Placement>> search_by_score(const State& state, const Policies& policies,
                                                      const WaitClass& it, Candidates candidates) {
  Derived& derived = *state.derived;
  const auto open = [&](NodeId id) {
    const NodeNote& note = derived.nodes[id.value - 1];
    return note.available &&
           std::find(note.pools.begin(), note.pools.end(), it.pool) != note.pools.end();
  };
  const auto best = derived.scores.choose(state, it.pool->name, *it.spec, open);
  if (!best) return std::nullopt;
  const RankedNodes only = {{derived.nodes[best->value - 1].rank, *best}};
  candidates.ranked = &only;
  return find_places(candidates, *policies.placement, *it.spec, {});
}

std::optional<std::vector<Placement>> search(const State& state, const Policies& policies,
                                             const WaitClass& it, const std::set<JobId>& ignored,
                                             std::span<const NodeId> avoided) {
  Plan& plan = state.derived->plan;
  const PlannedBooks planned(state, plan,
                             {it.spec.get(), it.restart_nodes, JobId{}, state.now,
                              stay_of(state, *it.spec).end(state.now), kNever, &ignored});
  Candidates candidates;
  candidates.ranked = &it.pool->nodes;
  candidates.nodes = &state.nodes;
  candidates.domains = &it.pool->domains;
  candidates.jobs = &state.jobs;
  candidates.planned = plan.is_empty() ? nullptr : &planned;
  if (avoided.empty()) {
    if (auto found = search_by_score(state, policies, it, candidates)) return found;
  }
  return find_places(candidates, *policies.placement, *it.spec, avoided);
}

// A refusal costs as much as a look at so many classes: all are looked at when that is paid for.
constexpr std::uint64_t kLooks_paid = 64;

// Launches the first job of the class, or says why none of it can be.
Verdict try_place(Cycle& cycle, std::uint64_t id) {
  const State& state = cycle.state;
  const WaitClass& it = state.derived->classes.at(id);
  const JobSpec& spec = *it.spec;
  if (!declared_obstacles(state, spec).empty()) return Verdict::kDeclared;
  if (is_over_limit(cycle.state, it)) return Verdict::kOverLimit;
  if (it.monotone && is_too_much(it)) return Verdict::kNoPlace;
  if (launch_promised(cycle, id)) return Verdict::kOpen;
  const Job& job = *state.find_job(it.jobs.begin()->job);
  const std::set<JobId> ignored = promises_behind(state, job);
  bool found = false;
  const auto find = [&](std::span<const NodeId> avoided) {
    auto some = search(state, cycle.policies, it, ignored, avoided);
    found = found || some.has_value();
    return some;
  };
  LimitedSearch limited{state, spec, it.avoided};
  limited.find = std::ref(find);
  auto places =
      amount_hangs_on_places(state, spec) ? places_within_limits(limited) : first_places(limited);
  // Which promises bind it hangs on guarantees, and so on who is launched.
  const bool lasts =
      it.monotone && (state.promises.empty() || !state.derived->tree.depends_on_usage());
  if (!places) return lasts && !found ? Verdict::kNoPlace : Verdict::kChanging;
  withdraw_behind(cycle, job, *places, ignored);
  const auto number =
      job.attempts.empty() ? AttemptNumber{1} : AttemptNumber{job.attempts.back().number + 1};
  cycle.emit(Launch{job.id, number, shared(std::move(*places))});
  return Verdict::kOpen;
}

}  // namespace

void resolve_dependencies(Cycle& cycle) {
  Derived& derived = *cycle.state.derived;
  while (!derived.to_check.empty()) {
    const JobId id = derived.to_check.take_first();
    const Job* job = cycle.state.find_job(id);
    if (job == nullptr || job->phase != JobPhase::kWaiting) continue;
    if (job->eligible_at.us == 0 && !job->spec->dependencies.empty() &&
        check_dependencies(cycle.state, *job).level == DependencyLevel::kNever) {
      cycle.emit(EndJob{id, Outcome::kDependencyNeverMet, 1});
      continue;
    }
    derived.to_order.insert(id);
  }
}

void order(Cycle& cycle) {
  Derived& derived = *cycle.state.derived;
  while (!derived.to_check.empty()) derived.to_order.insert(derived.to_check.take_first());
  if (!derived.to_order.empty()) derived.plan.looks = true;
  while (!derived.to_order.empty()) {
    const JobId id = derived.to_order.take_first();
    const Job* job = cycle.state.find_job(id);
    const auto note = derived.jobs.find(id);
    if (job == nullptr || note == derived.jobs.end()) continue;
    if (is_ready(cycle.state, *job)) {
      enqueue(cycle.state, *job, note->second);
    } else {
      dequeue(cycle.state, note->second);
      if (cycle.state.promises.contains(id)) derived.plan.to_check.insert(id);
    }
    // A delay may run from what has just happened to another job.
    sync_wake(cycle.state, id);
  }
}

void place(Cycle& cycle) {
  Derived& derived = *cycle.state.derived;
  derived.tree.time_passed();
  std::uint64_t refused = 0;  // classes, each in its turn, since all were looked at
  // A launch may help those whose search can miss: another round, as long as there are launches.
  for (bool launched = true; launched;) {
    keep_promises(cycle);
    launched = false;
    reopen_changing(cycle.state);
    if (derived.tree.mixes_orders() && derived.tree.any_open()) reopen_all(cycle.state);
    while (const std::optional<std::uint64_t> id = derived.tree.first(cycle.state)) {
      const Verdict verdict = try_place(cycle, *id);
      if (verdict == Verdict::kOpen) {
        launched = true;
      } else {
        set_verdict(cycle.state, *id, verdict);
        if (verdict != Verdict::kNoPlace || ++refused * kLooks_paid < derived.classes.last()) {
          continue;
        }
        close_too_much(cycle.state, derived.classes.at(*id).pool);
        refused = 0;
      }
    }
  }
}

}  // namespace dove::core
