#include "core/preempt/victims.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "core/place/device_fit.h"
#include "core/place/limits.h"
#include "core/place/reservation.h"
#include "core/state/learned/learned.h"
#include "model/preempt_pause.h"

namespace dove::core {
namespace {

// A job needs some time to show what it is worth; before that, two jobs could take over from one
// another for ever.
constexpr Span kRun_min = seconds(600);  // of an attempt before another takes over

Amount held_by(const State& state, const Attempt& attempt) {
  Amount held;
  for (const PlacementRecord& record : attempt.placements) {
    if (record.stage != PlacementStage::kEnded) add_amount(state, record.placement, held);
  }
  return held;
}

class Choice {
 public:
  Choice(const State& state, const Job& beneficiary, const Stoppable& stoppable,
         const VictimRules& rules)
      : state_(state),
        beneficiary_(beneficiary),
        rules_(rules),
        queues_(state, beneficiary, stoppable.books()),
        level_(queues_.level(beneficiary)) {
    const Amount needs = least_amount(*beneficiary.spec);
    weight_ = needs.gpus_milli + needs.cores;
    exclusive_ = beneficiary.spec->exclusive;
  }

  // False: consider() would take none of them.
  bool could_take(const Kin& kin) const {
    // As kind_of() and is_protected(), without what each job is asked by itself.
    if (kin.in_slice && !rules_.soon) return false;
    if (rules_.moves) return kin.weight_min < weight_ && kin.level <= level_;
    const Job& one = *state_.find_job(kin.one);
    const bool in_line = kin.level == level_ && !queues_.is_apart(one);
    if (in_line && rules_.rotation && kin.has_slice) return true;
    if (kin.pauses && !rules_.soon) return false;
    if (kin.level < level_ || (in_line && rules_.takes_over)) return true;
    if (exclusive_) return false;
    return queues_.reclaims(one) || (kin.level == level_ && queues_.has_less(one));
  }

  // REQUIRES: one of Stoppable::jobs().
  std::optional<Victim> consider(const Job& job) {
    const auto kind = kind_of(job);
    if (!kind || is_protected(job, *kind)) return {};
    const Attempt& attempt = job.attempts.back();
    return Victim{job.id, *kind, queues_.level(job), lost_work(state_, job), weight_of(attempt)};
  }

  // By level alone: what a queue is guaranteed or has too much of is settled between jobs of ours.
  // What is being put back for it has been asked to end, and loses nothing more by that: another
  // one in its place would be asked in vain, and the beneficiary would wait anew.
  std::optional<Victim> consider(const ForeignJobPtr& foreign, bool is_leaving) {
    const Job& job = foreign->job;
    const Level theirs = queues_.level(job);
    if (rules_.moves || theirs >= level_) return {};
    return Victim{job.id,
                  VictimKind::kPriority,
                  theirs,
                  is_leaving ? 0 : lost_work(state_, job),
                  weight_of(job.attempts.back()),
                  foreign};
  }

  // Whether it may be taken beside those that were let through before.
  bool lets_through(const Victim& victim) {
    // Asked in the order of the list, and each answer counts for the next ones: what one victim
    // gives up of its queue's surplus is no surplus for the others.
    const Job& job = job_of(state_, victim);
    // A moved job starts elsewhere at once, so its queue holds as much as before.
    if (victim.kind == VictimKind::kMove) return true;
    const Amount loss = held_by(state_, job.attempts.back());
    if (!queues_.keeps_guaranteed(job, loss)) return false;
    if (victim.kind == VictimKind::kShare && !queues_.reclaims(job) && !queues_.has_less(job)) {
      return false;
    }
    queues_.lose(job, loss);
    return true;
  }

 private:
  bool is_protected(const Job& job, VictimKind kind) const {
    // Asked for what would do later: protection ends by itself.
    if (rules_.soon) return false;
    if (slice_end(job) > state_.now) return true;
    // Rotation may come at once after the slice; to take over takes more, as what was learned may
    // be wrong.
    if (kind == VictimKind::kService && job.attempts.back().started_at + kRun_min > state_.now)
      return true;
    return kind != VictimKind::kRotation && pause_end(job) > state_.now;
  }

  std::optional<VictimKind> kind_of(const Job& job) {
    const Level theirs = queues_.level(job);
    // Only smaller ones, or two jobs of equal size could move each other to and fro. A job of a
    // higher level is never moved for one of a lower.
    if (rules_.moves) {
      const bool smaller = weight_of(job.attempts.back()) < weight_;
      return smaller && theirs <= level_ ? std::optional(VictimKind::kMove) : std::nullopt;
    }
    // The order of these questions is that of VictimKind: the first that holds gives the kind.
    if (theirs < level_) return VictimKind::kPriority;
    if (theirs == level_ && rules_.rotation && job.spec->slice_min.us > 0 &&
        !queues_.is_apart(job)) {
      // Rotation and takings-over settle who of one queue comes next. Between queues shares do
      // that.
      return VictimKind::kRotation;
    }
    if (theirs == level_ && rules_.takes_over && !queues_.is_apart(job) && takes_over(job)) {
      return VictimKind::kService;
    }
    // What whole nodes add to its queue is not known before they are: it could come out above.
    if (exclusive_) return std::nullopt;
    // Guarantees are taken back whatever the levels are: priority within one queue cannot outbid
    // what another is guaranteed.
    if (queues_.reclaims(job)) return VictimKind::kShare;
    if (theirs == level_ && queues_.has_less(job)) return VictimKind::kShare;
    return std::nullopt;
  }

  bool takes_over(const Job& job) const {
    // Half as much again, not merely less: estimates are coarse, and each change of hands costs a
    // start.
    const std::int64_t behind = learned_key(state_, job) - beneficiary_.learned_key;
    return behind > half_as_much_again(state_).us;
  }

  const State& state_;
  const Job& beneficiary_;
  const VictimRules& rules_;
  VictimQueues queues_;
  Level level_;
  std::int64_t weight_ = 0;
  bool exclusive_ = false;
};

// Whether a task of the group could be there at all.
// As far as models and kinds go; whether it has room is a question for the search, with the victims
// gone.
bool suits(const TaskGroup& group, const Node& node) {
  for (const Request* request : {&group.per_task, &group.per_node}) {
    if (!wants_devices(*request)) continue;
    const auto& devices = node.inventory->devices;
    if (std::none_of(devices.begin(), devices.end(),
                     [&](const Device& device) { return matches(*request, device); })) {
      return false;
    }
  }
  return true;
}

// Whether the beneficiary could use a node. Each is looked at once, and only if somebody there
// could be stopped: to look at all nodes for nobody would be the larger part of the work.
class UsableNodes {
 public:
  UsableNodes(const State& state, const JobSpec& spec, const ById<NodeId, bool>& among)
      : state_(state), spec_(spec), among_(among) {}

  bool operator()(NodeId id) {
    const auto [at, is_new] = known_.try_emplace(id, false);
    if (is_new) at->second = looks_usable(id);
    return at->second;
  }

 private:
  bool looks_usable(NodeId id) const {
    if (!among_[id]) return false;
    const Node& node = state_.nodes[id];
    return allows(spec_, node) && std::any_of(spec_.groups.begin(), spec_.groups.end(),
                                              [&](const TaskGroup& g) { return suits(g, node); });
  }

  const State& state_;
  const JobSpec& spec_;
  const ById<NodeId, bool>& among_;
  std::map<NodeId, bool> known_;
};

}  // namespace

Purpose purpose_of(VictimKind kind) {
  switch (kind) {
    case VictimKind::kPriority:
      return Purpose::kStarvation;
    case VictimKind::kRotation:
      return Purpose::kSlice;
    case VictimKind::kService:
    case VictimKind::kShare:
      return Purpose::kFairness;
    case VictimKind::kMove:
      return Purpose::kDefragmentation;
  }
  return Purpose::kNone;
}

// Spelled out: a new value of Preempt has to be looked at here.
bool is_preemptible(const JobSpec& spec) {
  switch (spec.preempt) {
    case Preempt::kNone:
      return false;
    case Preempt::kCheckpoint:
    case Preempt::kRestart:
      return true;
  }
  return false;
}

Instant slice_end(const Job& job) {
  if (job.spec->slice_min.us == 0) return {};
  // A slice is counted from the start of its tasks. Before that the job has had nothing of it.
  const Instant started = job.attempts.back().started_at;
  return started.us == 0 ? kNever : started + job.spec->slice_min;
}

Instant pause_end(const Job& job) {
  return job.preemptions == 0 ? Instant{} : job.preempted_at + pause_after(job.preemptions);
}

namespace {

// When another may take over its place.
Instant take_over_at(const State& state, const Job& job) {
  const Instant started = job.attempts.back().started_at;
  return !state.learned.kept || started.us == 0 ? kNever : started + kRun_min;
}

}  // namespace

Instant victim_wake(const State& state, const Job& job) {
  if (!is_preemptible(*job.spec)) return kNever;
  Instant wake = kNever;
  for (Instant at :
       {slice_end(job), pause_end(job), learned_change(state, job), take_over_at(state, job)}) {
    if (at > state.now) wake = std::min(wake, at);
  }
  return wake;
}

std::int64_t lost_work(const State& state, const Job& job) {
  // A job that has not begun has nothing to lose.
  const Attempt& attempt = job.attempts.back();
  Instant since = attempt.started_at;
  if (since.us == 0) return 0;
  // Without checkpoints the work of former attempts has to be done again as well. A job that was
  // stopped before is thereby dearer, and the same one is not stopped again and again.
  if (job.spec->preempt == Preempt::kCheckpoint) since = std::max(since, job.checkpoint_at);
  std::int64_t before_ms = 0;
  if (job.spec->preempt == Preempt::kRestart) before_ms = job.ran_before.us / 1000;
  // Milliseconds, as microseconds times a weight of thousands of devices could leave 64 bits.
  return ((state.now - since).us / 1000 + before_ms) * weight_of(attempt);
}

std::vector<JobId> promises_to_keep(const State& state, const Job& beneficiary,
                                    std::span<const JobId> stopping) {
  if (state.promises.empty()) return {};
  // Nobody can be gone before that. A promise that is due sooner finds its places as they are now.
  const Instant until = soon(state, stopping);
  VictimQueues queues(state, beneficiary, stopping);
  const Level mine = queues.level(beneficiary);
  std::vector<JobId> kept;
  for (const auto& [id, promise] : state.promises) {
    const Job* job = state.find_job(id);
    if (job == nullptr || id == beneficiary.id) continue;
    if (promise.start_at <= until || queues.level(*job) > mine) kept.push_back(id);
  }
  return kept;
}

RankedNodes open_nodes(const State& state, const Job& job, const RankedNodes& ranked) {
  if (state.reservations.empty()) return ranked;
  // It cannot start before the victims are gone, so that is the start to compare with windows.
  const Instant start = state.now + kSoon;
  const Instant end = stay_of(state, *job.spec).end(start);
  const Guest guest = guest_of(job);
  RankedNodes open;
  for (const NodeEntry& entry : ranked) {
    const std::vector<Window> windows = windows_of(state, state.nodes[entry.node]);
    if (is_open(state, guest, windows, start, end)) open.insert(entry);
  }
  return open;
}

std::vector<Victim> find_victims(const State& state, const Job& beneficiary,
                                 const RankedNodes& nodes, Stoppable& stoppable,
                                 const VictimRules& rules, std::span<const ForeignJobPtr> foreign) {
  Choice choice(state, beneficiary, stoppable, rules);
  UsableNodes usable(state, *beneficiary.spec, stoppable.among(nodes));
  std::vector<Victim> victims;
  const bool any = std::any_of(stoppable.kin().begin(), stoppable.kin().end(), [&](const Kin& kin) {
    return choice.could_take(kin) &&
           std::any_of(kin.nodes.begin(), kin.nodes.end(), std::ref(usable));
  });
  if (any) {
    // They are ascending, so ties below end up by age whatever was asked before.
    for (JobId id : stoppable.jobs()) {
      if (auto victim = choice.consider(*state.find_job(id))) victims.push_back(*victim);
    }
  }
  if (takes_from_foreign(state, beneficiary)) {
    const std::vector<ForeignJobPtr> leaving = put_back_for(state, beneficiary.id);
    for (const ForeignJobPtr& one : foreign) {
      const bool is_leaving =
          std::any_of(leaving.begin(), leaving.end(), [&](const ForeignJobPtr& each) {
            return each->executor == one->executor && each->id == one->id;
          });
      if (auto victim = choice.consider(one, is_leaving)) victims.push_back(std::move(*victim));
    }
  }
  std::erase_if(victims, [&](const Victim& victim) {
    const Attempt& attempt = job_of(state, victim).attempts.back();
    return std::none_of(
        attempt.placements.begin(), attempt.placements.end(), [&](const PlacementRecord& record) {
          return record.stage != PlacementStage::kEnded && usable(record.placement->node);
        });
  });
  // lets_through must see them in the order in which they will be taken: what it allows depends on
  // those before. The job's id makes the order total.
  const auto key = [](const Victim& v) { return std::tuple(v.kind, v.level, v.lost, v.job); };
  std::sort(victims.begin(), victims.end(),
            [&](const Victim& a, const Victim& b) { return key(a) < key(b); });
  std::erase_if(victims, [&](const Victim& victim) { return !choice.lets_through(victim); });
  return victims;
}

}  // namespace dove::core
