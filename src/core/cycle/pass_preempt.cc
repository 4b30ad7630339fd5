// The pass kPreempt: running jobs are stopped for waiting ones, which are promised their places.
#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

#include "core/cycle/passes.h"
#include "core/place/limits.h"
#include "core/place/reservation.h"
#include "core/preempt/foreign_jobs.h"
#include "core/preempt/stoppable.h"
#include "core/preempt/victim_limits.h"
#include "core/preempt/victim_search.h"
#include "core/preempt/victims.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// Victims are sought for this many blocked jobs of a cycle, the first in the queue.
constexpr std::size_t kBeneficiaries_max = 8;
// How many may rotate in, those that have waited longest.
constexpr std::size_t kRotations_max = 8;
// How many jobs of a shape are looked at for the one that has waited longest.
constexpr int kWaiting_looked_at_max = 64;

// How many shapes that limits keep waiting are looked at, the first in the queue.
constexpr std::size_t kOver_limit_max = 16;

// A waiting job that has no place, or is over a limit.
struct Blocked {
  QueueKey key;
  JobId job;
  Instant since;  // it has been waiting
};

Instant waiting_since(const Job& job) {
  return job.attempts.empty() ? job.submitted_at : job.attempts.back().ended_at;
}

// One round of seeking victims. What it decides is done before the next question is asked.
class Round {
 public:
  explicit Round(Cycle& cycle) : cycle_(cycle), state_(cycle.state), indexes_(cycle.indexes) {}

  // Whether anybody was stopped.
  bool run() {
    stopped_ = false;
    std::vector<Blocked> blocked = blocked_jobs(/*longest=*/false);
    // The kinds that need no waiting first. Rotation is for what is still blocked then.
    serve(blocked, kBeneficiaries_max, {});
    blocked = blocked_jobs(/*longest=*/true);
    VictimRules by_rotation;
    by_rotation.rotation = true;
    serve(blocked, kRotations_max, by_rotation);
    return stopped_;
  }

 private:
  // One of each shape: the first in the queue, or the one that has waited longest.
  std::vector<Blocked> blocked_jobs(bool longest) {
    std::vector<Blocked> over;
    std::vector<Blocked> blocked;
    // Closed classes alone: what is open is still to be tried by kPlace.
    for (const auto* ids : {&indexes_.over_limit, &indexes_.no_place, &indexes_.changing}) {
      for (std::uint64_t id : *ids) {
        EquivalenceClass& it = indexes_.classes.at(id);
        if (it.jobs.empty() || indexes_.tree.is_behind(it.user_queue, id)) continue;
        // What had no place may be over a limit since.
        std::vector<Blocked>& to = is_over_limit(cycle_.state, indexes_, it) ? over : blocked;
        to.push_back(longest ? longest_waiting(it) : entry(*it.jobs.begin()));
      }
    }
    const auto before = [longest](const Blocked& a, const Blocked& b) {
      return longest ? std::tie(a.since, a.key) < std::tie(b.since, b.key) : a.key < b.key;
    };
    std::sort(over.begin(), over.end(), before);
    // Bounded apart from the rest: a queue at its limit may have thousands of classes, and would
    // crowd out those that lack places.
    over.resize(std::min(over.size(), kOver_limit_max));
    blocked.insert(blocked.end(), over.begin(), over.end());
    std::sort(blocked.begin(), blocked.end(), before);
    return blocked;
  }

  Blocked entry(const QueueKey& key) const {
    return {key, key.job, waiting_since(*state_.find_job(key.job))};
  }

  // Jobs that never ran are behind those that did and came back; the first of them is the oldest.
  Blocked longest_waiting(const EquivalenceClass& it) const {
    Blocked best = entry(*it.jobs.begin());
    int looked_at = 0;
    for (const QueueKey& key : it.jobs) {
      const Blocked each = entry(key);
      if (each.since < best.since) best = each;
      const bool is_new = state_.find_job(key.job)->attempts.empty();
      if (is_new || ++looked_at == kWaiting_looked_at_max) break;
    }
    return best;
  }

  void serve(const std::vector<Blocked>& blocked, std::size_t most, const VictimRules& rules) {
    std::size_t served = 0;
    for (const Blocked& each : blocked) {
      if (served == most) return;
      const Job& job = *state_.find_job(each.job);
      // Not counted as served: what nobody can help must not use up the cycle's few beneficiaries.
      if (!may_start(job)) continue;
      // Counted: its places are coming, and those behind it are not to be served for more.
      if (starts_soon(each.job)) {
        ++served;
        continue;
      }
      VictimRules moves;
      moves.moves = true;
      const bool tried = seek(job, rules);
      const bool helped = starts_soon(each.job);
      // Moves only where no other kind helped: two searches for one job are dear.
      const bool moved = !rules.rotation && !helped && seek(job, moves);
      if (tried || moved || state_.promises.contains(each.job)) ++served;
    }
  }

  // To stop somebody takes about as long.
  bool starts_soon(JobId id) const {
    const auto promise = state_.promises.find(id);
    return promise != state_.promises.end() && promise->second.start_at >= state_.now &&
           promise->second.start_at <= state_.now + kSoon;
  }

  // As far as stopping others can do anything for it.
  bool may_start(const Job& job) const {
    const JobSpec& spec = *job.spec;
    if (!declared_obstacles(state_, spec).empty()) return false;
    const auto entry = indexes_.jobs.find(job.id);
    const bool full = entry != indexes_.jobs.end() && entry->second.equivalence_class != 0 &&
                      array_is_full(indexes_, indexes_.classes.at(entry->second.equivalence_class));
    // A limit that the job breaks by itself is kept by no number of victims.
    return !full && VictimLimits(state_, job, least_amount(spec), {}).could_hold();
  }

  const RankedNodes& nodes_of(const JobSpec& spec) const {
    static const RankedNodes none;
    const PoolIndex* pool = pool_index_of(state_, indexes_, spec);
    return pool == nullptr ? none : pool->nodes;
  }

  // All that executors run is looked at once a round, and only for a job that takes from it.
  std::span<const ForeignJobPtr> foreign_for(const Job& job) {
    if (!takes_from_foreign(state_, job)) return {};
    if (!foreign_) foreign_ = foreign_jobs(state_);
    return *foreign_;
  }

  // Counted once, and anew after each stop of this round: a later beneficiary counts on what was
  // stopped for an earlier one.
  Stoppable& stoppable_now() {
    if (!stoppable_) {
      const std::vector<JobId> running(indexes_.preemptible.begin(), indexes_.preemptible.end());
      const std::vector<JobId> stopping(indexes_.stopping.begin(), indexes_.stopping.end());
      stoppable_.emplace(state_, running, stopping);
    }
    return *stoppable_;
  }

  // Stops the victims, if there are any that make room. False: there is nobody to stop.
  bool seek(const Job& job, VictimRules rules) {
    const OrderPolicy& order = order_of(state_, cycle_.policies, job.spec->queue);
    rules.takes_over = order.head() == Head::kTakesOver;
    Stoppable& stoppable = stoppable_now();
    const std::vector<Victim> victims =
        find_victims(state_, job, nodes_of(*job.spec), stoppable, rules, foreign_for(job));
    if (victims.empty()) return false;
    const std::vector<JobId> stopping(stoppable.stopping().begin(), stoppable.stopping().end());
    const RankedNodes nodes = open_nodes(state_, job, nodes_of(*job.spec));
    VictimSearch search(state_, *cycle_.policies.placement, job, nodes, stopping, victims);
    // True from here on: there was somebody to stop, and the search for this beneficiary is paid
    // for.
    auto found = search.find();
    if (!found || !keep_limits(state_, job, stopping, victims, *found)) return true;
    if (found->victims.empty()) return true;
    const auto elsewhere = [this](const JobSpec& spec) -> const RankedNodes& {
      return nodes_of(spec);
    };
    if (rules.moves && !search.can_move(*found, elsewhere)) return true;
    stop(job, *found, stopping);
    return true;
  }

  // `stopping`: those who were being stopped before.
  void stop(const Job& job, const Preemption& found, const std::vector<JobId>& stopping) {
    for (const Victim& victim : found.victims) {
      // The promise says it all (put_back_for): the executor hears of it with what it is to hold.
      if (victim.foreign != nullptr) continue;
      const Job& it = *state_.find_job(victim.job);
      cycle_.emit(Stop{it.id, it.attempts.back().number, StopReason::kPreempted,
                       purpose_of(victim.kind), job.id});
    }
    // In the same cycle as the stops. Otherwise whoever is next in the queue could take what is
    // freed.
    cycle_.emit(Promise{job.id, all_gone_at(job, found, stopping), found.placements, true});
    stoppable_.reset();
    stopped_ = true;
  }

  // When whoever is being stopped in its places, or elsewhere for a limit, is gone at the latest.
  Instant all_gone_at(const Job& job, const Preemption& found,
                      const std::vector<JobId>& stopping) const {
    Instant at = state_.now;
    for (const Victim& victim : found.victims) {
      // How long its executor lets it end is the executor's matter.
      const bool is_foreign = victim.foreign != nullptr;
      at = std::max(at, is_foreign ? state_.now + kSoon
                                   : places_free_at(state_, *state_.find_job(victim.job)));
    }
    // The search counts these as gone, for limits as for places.
    const VictimLimits limits(state_, job, amount_of(state_, found.placements), {});
    for (const JobId id : stopping) {
      const Job& other = *state_.find_job(id);
      if (limits.counts(other)) at = std::max(at, places_free_at(state_, other));
    }
    for (const Placement& placement : found.placements) {
      for (JobId id : state_.nodes[placement.node].jobs) {
        const Job& holder = *state_.find_job(id);
        // Those that run on keep what they have: the places were found beside them.
        if (holder.attempts.back().stage != Stage::kStopping) continue;
        at = std::max(at, places_free_at(state_, holder));
      }
    }
    return at;
  }

  Cycle& cycle_;
  const State& state_;
  Indexes& indexes_;
  std::optional<std::vector<ForeignJobPtr>> foreign_;
  std::optional<Stoppable> stoppable_;
  bool stopped_ = false;
};

}  // namespace

// What one job was promised, and who was stopped for it, changes what others need: rounds follow
// until there is nobody left to stop. In between, a promise that was replaced lets others start,
// and who is stopped lets others come earlier; promises that had to give way are made anew.
Back preempt(Cycle& cycle) {
  if (!cycle.state.settings.preemption) return std::nullopt;
  if (cycle.indexes.preemptible.empty() && !any_preempts(cycle.state)) return std::nullopt;
  if (Round(cycle).run()) return Pass::kPlace;
  return std::nullopt;
}

}  // namespace dove::core
