// The pass kPlace: waiting jobs are launched, in the order of the queues, each whole and on nodes
// that have room now.
#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "core/cycle/passes.h"
#include "core/cycle/promises.h"
#include "core/place/limits.h"
#include "core/place/place.h"
#include "core/place/reservation.h"
#include "core/place/within_limits.h"
#include "core/plan/promise.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// On the node that scores best, if the job is of a kind that is scored.
std::optional<std::vector<Placement>> search_by_score(Cycle& cycle, const WaitClass& it,
                                                      Candidates candidates) {
  Indexes& indexes = cycle.indexes;
  const auto open = [&](NodeId id) {
    const NodeNote& note = indexes.nodes[id.value - 1];
    return note.available &&
           std::find(note.pools.begin(), note.pools.end(), it.pool) != note.pools.end();
  };
  const auto best = indexes.scores.choose(cycle.state, it.pool->name, *it.spec, open);
  if (!best) return std::nullopt;
  const RankedNodes only = {{indexes.nodes[best->value - 1].rank, *best}};
  candidates.ranked = &only;
  return find_places(candidates, *cycle.policies.placement, *it.spec, {});
}

std::optional<std::vector<Placement>> search(Cycle& cycle, const WaitClass& it,
                                             const std::set<JobId>& ignored,
                                             std::span<const NodeId> avoided) {
  const State& state = cycle.state;
  Plan& plan = cycle.indexes.plan;
  PlannedBooks planned(state, plan,
                       {it.spec.get(), it.restart_nodes, JobId{}, state.now,
                        stay_of(state, *it.spec).end(state.now), kNever, &ignored});
  Candidates candidates;
  candidates.ranked = &it.pool->nodes;
  candidates.nodes = &state.nodes;
  candidates.domains = &it.pool->domains;
  candidates.jobs = &state.jobs;
  candidates.free = plan.is_empty() ? nullptr : &planned;
  candidates.spares_last = planned.takes_spares();
  if (avoided.empty()) {
    if (auto found = search_by_score(cycle, it, candidates)) return found;
  }
  return find_places(candidates, *cycle.policies.placement, *it.spec, avoided);
}

// A refusal costs as much as a look at so many classes: all are looked at when that is paid for.
constexpr std::uint64_t kLooks_paid = 64;

// Launches the first job of the class, or says why none of it can be.
Verdict try_place(Cycle& cycle, std::uint64_t id) {
  const State& state = cycle.state;
  WaitClass& it = cycle.indexes.classes.at(id);
  const JobSpec& spec = *it.spec;
  if (!declared_obstacles(state, spec).empty()) return Verdict::kDeclared;
  if (is_over_limit(cycle.state, cycle.indexes, it)) return Verdict::kOverLimit;
  if (it.monotone && is_too_much(it)) return Verdict::kNoPlace;
  if (launch_promised(cycle, id)) return Verdict::kOpen;
  const Job& job = *state.find_job(it.jobs.begin()->job);
  const std::set<JobId> ignored = promises_behind(state, job);
  bool found = false;
  const auto find = [&](std::span<const NodeId> avoided) {
    auto some = search(cycle, it, ignored, avoided);
    found = found || some.has_value();
    return some;
  };
  LimitedSearch limited{state, spec, it.avoided};
  limited.find = std::ref(find);
  auto places =
      amount_hangs_on_places(state, spec) ? places_within_limits(limited) : first_places(limited);
  // Which promises bind it hangs on guarantees, and so on who is launched.
  const bool lasts =
      it.monotone && (state.promises.empty() || !cycle.indexes.tree.depends_on_usage());
  if (!places) return lasts && !found ? Verdict::kNoPlace : Verdict::kChanging;
  withdraw_behind(cycle, job, *places, ignored);
  const auto number =
      job.attempts.empty() ? AttemptNumber{1} : AttemptNumber{job.attempts.back().number + 1};
  cycle.emit(Launch{job.id, number, shared(std::move(*places))});
  return Verdict::kOpen;
}

}  // namespace

Back place(Cycle& cycle) {
  Indexes& indexes = cycle.indexes;
  indexes.tree.time_passed();
  std::uint64_t refused = 0;  // classes, each in its turn, since all were looked at
  // A launch may help those whose search can miss: another round, as long as there are launches.
  for (bool launched = true; launched;) {
    keep_promises(cycle);
    launched = false;
    reopen_changing(indexes);
    if (indexes.tree.mixes_orders() && indexes.tree.any_open()) reopen_all(indexes);
    while (const std::optional<std::uint64_t> id = indexes.tree.first(cycle.state)) {
      const Verdict verdict = try_place(cycle, *id);
      if (verdict == Verdict::kOpen) {
        launched = true;
      } else {
        set_verdict(indexes, *id, verdict);
        if (verdict != Verdict::kNoPlace || ++refused * kLooks_paid < indexes.classes.last()) {
          continue;
        }
        close_too_much(cycle.state, indexes, indexes.classes.at(*id).pool);
        refused = 0;
      }
    }
  }
  return std::nullopt;
}

}  // namespace dove::core
