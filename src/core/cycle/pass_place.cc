// The pass kPlace: waiting jobs are launched, in the order of the queues, each whole and on nodes
// that have room now.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "core/cycle/kept_nodes.h"
#include "core/cycle/passes.h"
#include "core/cycle/promises.h"
#include "core/cycle/scored_places.h"
#include "core/place/limits.h"
#include "core/place/place.h"
#include "core/place/reservation.h"
#include "core/place/within_limits.h"
#include "core/plan/promise.h"
#include "core/state/books.h"
#include "core/state/restored/restored.h"

namespace dove::core {
namespace {

// All nodes but those that are kept for others.
class NotKept final : public FreeNodes {
 public:
  // `free` may be null, as in Candidates; `kept` ascends.
  NotKept(FreeNodes* free, const std::vector<NodeId>& kept) : free_(free), kept_(kept) {}
  const FreeBooks* books(NodeId node) override {
    return free_ == nullptr ? nullptr : free_->books(node);
  }
  bool is_open(NodeId node) override {
    if (std::binary_search(kept_.begin(), kept_.end(), node)) return false;
    return free_ == nullptr || free_->is_open(node);
  }
  bool is_spare(NodeId node) override { return free_ != nullptr && free_->is_spare(node); }

 private:
  FreeNodes* free_;
  const std::vector<NodeId>& kept_;
};

// What promises_behind says, kept while nothing is launched or promised: a cycle that launches
// little asks for every class that it refuses, and classes differ by queue and priority at most.
// For one pass, as priorities change between them.
class PromisesBehind {
 public:
  // Stays until the next call.
  const std::set<JobId>& of(const Cycle& cycle, const Job& job) {
    if (books_ != cycle.indexes.books) known_.clear();
    books_ = cycle.indexes.books;
    const auto [at, is_new] = known_.try_emplace({job.spec->queue, job.priority, comes_first(job)});
    if (is_new) at->second = promises_behind(cycle.state, job);
    return at->second;
  }

 private:
  Generation books_;
  std::map<std::tuple<std::string, std::int32_t, bool>, std::set<JobId>> known_;
};

using Places = std::optional<std::vector<Placement>>;

// For one job of a class, in the state as it is.
class Search {
 public:
  Search(Cycle& cycle, const EquivalenceClass& it, const std::set<JobId>& ignored,
         const std::vector<NodeId>& kept)
      : cycle_(cycle),
        class_(it),
        planned_(cycle.state, cycle.indexes.plan,
                 {it.spec.get(), it.restart_nodes, JobId{}, cycle.state.now,
                  stay_of(cycle.state, *it.spec).end(cycle.state.now), kNever, &ignored}),
        not_kept_(cycle.indexes.plan.is_empty() ? nullptr : &planned_, kept) {
    candidates_.ranked = &it.pool->nodes;
    candidates_.nodes = &cycle.state.nodes.by_id();
    candidates_.domains = &it.pool->domains;
    candidates_.jobs = &cycle.state.jobs;
    candidates_.executors = &cycle.state.executors;
    candidates_.free = cycle.indexes.plan.is_empty() ? nullptr : &planned_;
    if (!kept.empty()) candidates_.free = &not_kept_;
    candidates_.spares_last = planned_.takes_spares();
    by_unit_ = goes_by_unit(*it.spec, *candidates_.domains);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  Places by_policy(std::span<const NodeId> avoided) {
    return find_places(candidates_, *cycle_.policies.placement, *class_.spec, avoided);
  }
  // Those that scores prefer to the ones that by_policy() found; none: these are as good.
  Places better(const std::vector<Placement>& found) {
    if (by_unit_ && may_score()) return better_in_unit(cycle_, class_, candidates_, found);
    return by_score();
  }
  // Whatever the limits are.
  Places best(std::span<const NodeId> avoided) {
    if (!avoided.empty()) return by_policy(avoided);
    // Where scores choose the nodes, the other search is needed only if they find none.
    if (auto found = by_score()) return found;
    auto found = by_policy(avoided);
    if (!found || !by_unit_) return found;
    auto scored = better(*found);
    return scored ? std::move(scored) : std::move(found);
  }

 private:
  // Spare nodes are taken last, which scores do not know.
  bool may_score() const { return !candidates_.spares_last; }
  Places by_score() {
    if (by_unit_ || !may_score()) return std::nullopt;
    return places_by_score(cycle_, class_, candidates_);
  }

  Cycle& cycle_;
  const EquivalenceClass& class_;
  PlannedBooks planned_;
  NotKept not_kept_;
  Candidates candidates_;
  bool by_unit_ = false;
};

bool is_within_limits(const State& state, const JobSpec& spec,
                      const std::vector<Placement>& places) {
  return broken_limits(state, spec, amount_of(state, places), false).empty();
}

// A refusal costs as much as a look at this many classes: all are looked at when that is paid for.
constexpr std::uint64_t kLooks_paid = 64;

// Launches the first job of the class, or says why none of it can be.
Verdict try_place(Cycle& cycle, std::uint64_t id, PromisesBehind& behind) {
  const State& state = cycle.state;
  EquivalenceClass& it = cycle.indexes.classes.at(id);
  const JobSpec& spec = *it.spec;
  // From the cheapest question to the dearest. Most classes of a full cluster are settled before
  // the search.
  if (!declared_obstacles(state, spec).empty()) return Verdict::kDeclared;
  if (is_over_limit(cycle.state, cycle.indexes, it)) return Verdict::kOverLimit;
  if (it.monotone && is_too_much(it)) return Verdict::kNoPlace;
  // A promised job of the class goes first, though others of it may stand before: its places are
  // kept for it alone.
  if (launch_promised(cycle, id)) return Verdict::kOpen;
  const Job& job = *state.find_job(it.jobs.begin()->job);
  const std::set<JobId>& ignored = behind.of(cycle, job);
  const std::vector<NodeId> kept = nodes_kept_from(state, cycle.indexes.kept_nodes, job);
  Search search(cycle, it, ignored, kept);
  // Where the places decide how much counts, those of the policy decide whether the job starts, as
  // explanations ask; scores only where.
  const bool by_limits = amount_hangs_on_places(state, spec);
  bool found = false;
  LimitedSearch limited{state, spec, it.avoided};
  limited.find = [&](std::span<const NodeId> avoided) {
    auto some = by_limits ? search.by_policy(avoided) : search.best(avoided);
    found = found || some.has_value();
    return some;
  };
  auto places = by_limits ? places_within_limits(limited) : first_places(limited);
  if (places && by_limits && it.avoided.empty()) {
    auto better = search.better(*places);
    if (better && is_within_limits(state, spec, *better)) places = std::move(better);
  }
  // Which promises and kept nodes bind it depends on guarantees, and so on what is launched.
  const bool is_bound = !state.promises.empty() || !cycle.indexes.kept_nodes.empty();
  // Launches only take room away. A monotone class without a place has none until room comes back,
  // and is not searched for again before then.
  const bool lasts = it.monotone && !(is_bound && cycle.indexes.tree.depends_on_usage());
  if (!places) return lasts && !found ? Verdict::kNoPlace : Verdict::kChanging;
  // Before the launch: a promise that gives way is withdrawn in the log, never silently broken.
  withdraw_behind(cycle, job, *places, ignored);
  const AttemptNumber number = next_attempt(cycle.state, job);
  cycle.emit(Launch{job.id, number, shared(std::move(*places))});
  return Verdict::kOpen;
}

// Other nodes are kept, or for another job: what had no place may have one.
void renew_kept(Cycle& cycle) {
  KeptNodes kept = kept_nodes(cycle.state, cycle.indexes, *cycle.policies.placement);
  if (kept == cycle.indexes.kept_nodes) return;
  cycle.indexes.kept_nodes = std::move(kept);
  reopen_all(cycle.indexes);
}

bool has_started(const Cycle& cycle) {
  const KeptNodes& kept = cycle.indexes.kept_nodes;
  // A launch needs no new choice of kept nodes, unless it was of the job that they were kept for.
  return std::any_of(kept.begin(), kept.end(), [&](const auto& one) {
    return cycle.state.find_job(one.first)->phase != JobPhase::kWaiting;
  });
}

}  // namespace

Back place(Cycle& cycle) {
  Indexes& indexes = cycle.indexes;
  // Past use has decayed since the last cycle, and with it the order of users and queues.
  indexes.tree.time_passed();
  PromisesBehind behind;
  std::uint64_t refused = 0;  // classes, each in its turn, since all were looked at
  // A launch may help those whose search can miss: another round, as long as there are launches.
  for (bool launched = true; launched;) {
    keep_promises(cycle);
    renew_kept(cycle);
    launched = false;
    reopen_changing(indexes);
    // A queue stands where its first open job puts it. Where orders are mixed, that would depend on
    // which classes happen to be closed, so a round begins with all of them open.
    if (indexes.tree.mixes_orders() && indexes.tree.any_open()) reopen_all(indexes);
    std::set<std::uint64_t> tried;  // in their turn, in this round
    bool had_tie = false;
    // Each step launches a job or closes a class. A launch opens none but by a promise that gives
    // way, so the loop ends.
    while (const std::optional<std::uint64_t> id = indexes.tree.first(cycle.state)) {
      // Queues of equal shares are told apart by their first jobs, and those too would depend on
      // which classes happen to be closed. Ties are rare, so they are met as they come.
      if (indexes.tree.tied() && !std::exchange(had_tie, true) && reopen_all(indexes, tried)) {
        continue;
      }
      const Verdict verdict = try_place(cycle, *id, behind);
      if (verdict == Verdict::kOpen) {
        launched = true;
        if (has_started(cycle)) renew_kept(cycle);
      } else {
        set_verdict(indexes, *id, verdict);
        tried.insert(*id);
        // Where orders are mixed, what is closed before its turn could pull others forward.
        if (verdict != Verdict::kNoPlace || indexes.tree.mixes_orders() || had_tie ||
            ++refused * kLooks_paid < indexes.classes.last()) {
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
