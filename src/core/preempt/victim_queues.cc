#include "core/preempt/victim_queues.h"

#include <algorithm>
#include <utility>

#include "core/queue/queue_order.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// Shares are compared after a division. With billionths of the cluster, one core among a million
// still shows.
constexpr std::int64_t kShare_scale = 1'000'000'000;
constexpr std::int64_t kMebi = std::int64_t{1} << 20;

void add_countables(std::vector<Countable>& to, const std::vector<Countable>& from, int sign) {
  for (const Countable& one : from) {
    // Sorted by name, as amount_of looks names up by halving.
    auto at = std::lower_bound(to.begin(), to.end(), one.name,
                               [](const Countable& c, const std::string& n) { return c.name < n; });
    if (at == to.end() || at->name != one.name) at = to.insert(at, Countable{one.name, 0});
    at->amount += sign * one.amount;
  }
}

void add(Amount& to, const Amount& from, int sign) {
  to.cores += sign * from.cores;
  to.gpus_milli += sign * from.gpus_milli;
  to.memory_bytes += sign * from.memory_bytes;
  add_countables(to.countables, from.countables, sign);
  add_countables(to.gpus_by_model, from.gpus_by_model, sign);
}

Amount amount_of(const Usage& usage) {
  Amount amount;
  amount.cores = usage.cores;
  amount.gpus_milli = usage.gpus_milli;
  amount.memory_bytes = usage.memory_bytes;
  for (const auto& [name, used] : usage.countables) amount.countables.push_back({name, used});
  for (const auto& [name, used] : usage.gpus_by_model) amount.gpus_by_model.push_back({name, used});
  return amount;
}

// A queue without a guarantee has nothing to keep and nothing to take back.
bool guarantees(const Quota& quota) {
  return quota.cores > 0 || quota.gpus_milli > 0 || quota.memory_bytes > 0 ||
         !quota.countables.empty() || !quota.gpus_by_model.empty();
}

// Calls test(guaranteed, held, changed) for each resource that the quota names.
template <class Test>
bool each_resource(const Quota& quota, const Amount& held, const Amount& change, Test test) {
  // A resource that is not named is not guaranteed: it neither protects nor entitles.
  if (quota.cores > 0 && !test(quota.cores, held.cores, change.cores)) return false;
  if (quota.gpus_milli > 0 && !test(quota.gpus_milli, held.gpus_milli, change.gpus_milli)) {
    return false;
  }
  if (quota.memory_bytes > 0 && !test(quota.memory_bytes, held.memory_bytes, change.memory_bytes)) {
    return false;
  }
  const auto each = [&](const std::vector<Countable>& guaranteed, const std::vector<Countable>& has,
                        const std::vector<Countable>& changes) {
    return std::all_of(guaranteed.begin(), guaranteed.end(), [&](const Countable& one) {
      return test(one.amount, core::amount_of(has, one.name), core::amount_of(changes, one.name));
    });
  };
  return each(quota.countables, held.countables, change.countables) &&
         each(quota.gpus_by_model, held.gpus_by_model, change.gpus_by_model);
}

// What is held beyond the guarantee, in billionths of all there is.
std::int64_t part(std::int64_t held, std::int64_t guaranteed, std::int64_t total) {
  if (total <= 0 || held <= guaranteed) return 0;
  return (held - guaranteed) * kShare_scale / total;
}

}  // namespace

Instant soon(const State& state, std::span<const JobId> stopping) {
  Instant until = state.now + kSoon;
  // Whoever is being stopped has been given until then by its grace times.
  for (JobId id : stopping) {
    const Job& job = *state.find_job(id);
    until = std::max(
        until, job.attempts.back().stop_at + job.spec->checkpoint_grace + job.spec->kill_grace);
  }
  return until;
}

namespace {

class Bookkeeping {
 public:
  explicit Bookkeeping(const State& state) : state_(state) {}

  std::shared_ptr<const QueueBooks> count(std::span<const JobId> stopping) {
    count_nodes();
    rank_bands();
    count_changes(stopping);
    return std::move(books_);
  }

 private:
  void count_nodes() {
    Amount& total = books_->total;
    for (const Node& node : state_.nodes) {
      // The whole of the cluster, closed nodes included: shares must not jump because a node is
      // being repaired.
      if (node.removed || node.inventory == nullptr) continue;
      total.gpus_milli +=
          static_cast<std::int64_t>(node.device_free_milli.size()) * kWholeDevice_milli;
      for (const NumaNode& numa : node.inventory->numa) {
        total.cores += static_cast<std::int64_t>(numa.cores.size());
      }
      total.memory_bytes += node.inventory->memory_bytes;
    }
  }

  // Queues in the order of their bands from the top down, missing ones counting as 0.
  void rank_bands() {
    std::vector<std::pair<std::vector<std::int32_t>, std::string>> all;
    for (const auto& [name, queue] : state_.queues) {
      std::vector<const Queue*> path = queue_path(state_, name);
      std::reverse(path.begin(), path.end());
      std::vector<std::int32_t> bands;
      for (const Queue* each : path) bands.push_back(each->band);
      // Zeros at the end say nothing, as missing bands are zeros: queues below one another then
      // compare equal, as they should.
      while (!bands.empty() && bands.back() == 0) bands.pop_back();
      books_->sides[name].path = std::move(path);
      all.emplace_back(std::move(bands), name);
    }
    const auto before = [](const auto& a, const auto& b) {
      const std::size_t depth = std::max(a.first.size(), b.first.size());
      for (std::size_t i = 0; i < depth; ++i) {
        const std::int32_t left = i < a.first.size() ? a.first[i] : 0;
        const std::int32_t right = i < b.first.size() ? b.first[i] : 0;
        if (left != right) return left < right;
      }
      return false;
    };
    // Stable, and state_.queues is sorted by name: the ranks are a function of the state.
    std::stable_sort(all.begin(), all.end(), before);
    std::int32_t rank = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      // Queues with the same bands share a rank. A total order of levels rests on it, and thereby
      // that preemption ends.
      if (i > 0 && before(all[i - 1], all[i])) ++rank;
      books_->sides[all[i].second].bands = rank;
    }
  }

  void count_changes(std::span<const JobId> stopping) {
    for (const auto& [name, usage] : state_.usage_by_queue) books_->held[name] = amount_of(usage);
    // Usage counts them until they have ended. For this search they are gone, or the same surplus
    // would be taken twice.
    for (JobId id : stopping) {
      const Job& job = *state_.find_job(id);
      for (const PlacementRecord& record : job.attempts.back().placements) {
        if (record.stage == PlacementStage::kEnded) continue;
        add_to(books_->held, job, core::amount_of(state_, {record.placement}), -1);
      }
    }
    books_->until = soon(state_, stopping);
    for (const auto& [id, promise] : state_.promises) {
      const Job* job = state_.find_job(id);
      // A promise that is due later does not compete: until then others may use the places.
      if (job == nullptr || promise.start_at > books_->until) continue;
      add_to(books_->comes, *job, core::amount_of(state_, promise.placements), +1);
    }
  }

  void add_to(std::map<std::string, Amount>& to, const Job& job, const Amount& amount, int sign) {
    // A queue's use is that of all queues below it, too.
    for (const Queue* each : books_->side(job.spec->queue).path) add(to[each->name], amount, sign);
  }

  const State& state_;
  std::shared_ptr<QueueBooks> books_ = std::make_shared<QueueBooks>();
};

}  // namespace

std::shared_ptr<const QueueBooks> queue_books(const State& state, std::span<const JobId> stopping) {
  return Bookkeeping(state).count(stopping);
}

const QueueBooks::Side& QueueBooks::side(const std::string& queue) const {
  static const Side none;
  const auto at = sides.find(queue);
  return at == sides.end() ? none : at->second;
}

Level QueueBooks::level(const Job& job) const {
  const Side& it = side(job.spec->queue);
  const std::int64_t own = it.path.empty() ? 0 : it.path.back()->priority;
  return {it.bands, job.priority + own};
}

VictimQueues::VictimQueues(const State& state, const Job& beneficiary,
                           std::span<const JobId> stopping)
    : VictimQueues(state, beneficiary, queue_books(state, stopping)) {}

VictimQueues::VictimQueues(const State& state, const Job& beneficiary,
                           std::shared_ptr<const QueueBooks> books)
    : books_(std::move(books)),
      gain_(least_amount(*beneficiary.spec)),
      mine_(books_->side(beneficiary.spec->queue)) {
  const auto promise = state.promises.find(beneficiary.id);
  if (promise == state.promises.end() || promise->second.start_at > books_->until) return;
  // It is what the beneficiary gains, and not what others of its queue have before it.
  promised_ = core::amount_of(state, promise->second.placements);
}

std::size_t VictimQueues::parting(const Side& victim) const {
  std::size_t at = 0;
  while (at < victim.path.size() && at < mine_.path.size() && victim.path[at] == mine_.path[at]) {
    ++at;
  }
  return at;
}

const Amount& VictimQueues::held(const Queue& queue) const {
  static const Amount nothing;
  if (const auto left = left_.find(queue.name); left != left_.end()) return left->second;
  const auto at = books_->held.find(queue.name);
  return at == books_->held.end() ? nothing : at->second;
}

Amount VictimQueues::gain_of(const Queue& queue) const {
  Amount gain = gain_;
  const auto comes = books_->comes.find(queue.name);
  if (comes == books_->comes.end()) return gain;
  add(gain, comes->second, +1);
  add(gain, promised_, -1);
  return gain;
}

bool VictimQueues::is_apart(const Job& victim) const {
  const Side& theirs = books_->side(victim.spec->queue);
  const std::size_t at = parting(theirs);
  // Equal paths have no parting queue: within one queue levels and rotation decide. A queue and one
  // below it compete as little, for what the lower one holds is the upper one's as well.
  return at < theirs.path.size() && at < mine_.path.size();
}

bool VictimQueues::keeps_guaranteed(const Job& victim, const Amount& loss) const {
  const Side& theirs = books_->side(victim.spec->queue);
  // Queues above the parting point are common to both. What one loses there the other gains.
  for (std::size_t i = parting(theirs); i < theirs.path.size(); ++i) {
    const Queue& queue = *theirs.path[i];
    if (!guarantees(queue.guaranteed)) continue;
    const auto keeps = [](std::int64_t guaranteed, std::int64_t held, std::int64_t lost) {
      // A resource that the victim does not hold cannot fall below its guarantee, even if it is
      // below it already: such a victim would protect its queue by accident.
      return lost == 0 || held - lost >= guaranteed;
    };
    if (!each_resource(queue.guaranteed, held(queue), loss, keeps)) return false;
  }
  return true;
}

bool VictimQueues::within(const Queue& queue, const Amount& gain) const {
  if (!guarantees(queue.guaranteed)) return false;
  bool uses = false;
  const auto fits = [&](std::int64_t guaranteed, std::int64_t held, std::int64_t more) {
    uses = uses || more > 0;
    return held + more <= guaranteed;
    // Something of what is guaranteed must be used: a job of none of these resources could
    // otherwise reclaim for nothing.
  };
  return each_resource(queue.guaranteed, held(queue), gain, fits) && uses;
}

bool VictimQueues::reclaims(const Job& victim) const {
  if (!is_apart(victim)) return false;
  const Queue& queue = *mine_.path[parting(books_->side(victim.spec->queue))];
  // What is promised to others of the queue counts before this job: a guarantee is not to be spent
  // twice.
  return within(queue, gain_of(queue));
}

// The largest part of a resource that the queue holds beyond its guarantee, for its weight.
std::int64_t VictimQueues::share(const Queue& queue, const Amount& gain) const {
  const Amount& now = held(queue);
  const Quota& own = queue.guaranteed;
  // What it holds of the models that it is guaranteed, up to that.
  std::int64_t by_model = 0;
  for (const Countable& one : own.gpus_by_model) {
    const std::int64_t has = core::amount_of(now.gpus_by_model, one.name) +
                             core::amount_of(gain.gpus_by_model, one.name);
    by_model += std::min(has, one.amount);
  }
  // The dominant share (DRF, Ghodsi et al., NSDI 2011) of what exceeds the guarantee: what a queue
  // is guaranteed is its own and puts it at no disadvantage.
  // By weight: a queue of twice the weight may have twice as much before it counts as ahead.
  const QueueWeights weights = weights_of(queue);
  const std::int64_t gpus = part(now.gpus_milli + gain.gpus_milli,
                                 std::max(own.gpus_milli, by_model), books_->total.gpus_milli);
  const std::int64_t memory = part((now.memory_bytes + gain.memory_bytes) / kMebi,
                                   own.memory_bytes / kMebi, books_->total.memory_bytes / kMebi);
  return std::max({part(now.cores + gain.cores, own.cores, books_->total.cores) / weights.cores,
                   gpus / weights.gpus, memory / weights.memory});
}

bool VictimQueues::has_less(const Job& victim) const {
  if (!is_apart(victim)) return false;
  const Side& theirs = books_->side(victim.spec->queue);
  const std::size_t at = parting(theirs);
  // The one's share afterwards against the other's now: were it equal, the two could take from each
  // other, back and forth.
  return share(*mine_.path[at], gain_of(*mine_.path[at])) < share(*theirs.path[at], {});
}

void VictimQueues::lose(const Job& victim, const Amount& loss) {
  for (const Queue* each : books_->side(victim.spec->queue).path) {
    add(left_.try_emplace(each->name, held(*each)).first->second, loss, -1);
  }
}

}  // namespace dove::core
