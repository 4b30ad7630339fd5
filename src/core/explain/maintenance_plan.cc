#include "core/explain/maintenance_plan.h"

#include <algorithm>
#include <map>

#include "core/cycle/scheduler.h"
#include "core/nodes/maintenance.h"
#include "core/place/reservation.h"

namespace dove::core {
namespace {

// More stages than a node goes through in one treatment.
constexpr std::size_t kSteps_per_node = 16;
constexpr std::size_t kSteps_per_job = 4;

class Ahead {
 public:
  Ahead(const State& state, const Policies& policies, const MaintenanceRequest& wish)
      : brain_(policies, state), wish_(wish) {
    // Nodes and ends alone matter here. Nothing new is started on nodes that are about to go, and
    // the plan is for what runs now.
    for (const Pass pass : {Pass::kDependencies, Pass::kPlace, Pass::kPromise, Pass::kPreempt,
                            Pass::kBarrier, Pass::kPurge}) {
      options_.switch_off(pass);
    }
    for (const NodeId node : wish.nodes) {
      PlannedMaintenance planned;
      planned.node = node;
      planned.from = kNever;
      planned_.emplace(node, planned);
    }
  }

  MaintenancePlan run() {
    Instant at = wish_.at;
    // The fork runs the real passes. A plan that computed ends in its own way would differ from
    // what happens.
    brain_.begin_batch(at, state_.epoch);
    const NodeRequest& asked = wish_.request;
    for (const NodeId node : wish_.nodes) {
      tell(NodeActionRequested{node, asked.action, asked.now, asked.by, asked.why});
    }
    // Bounded by what can happen: each node takes a few steps, each job ends once.
    std::size_t steps = kSteps_per_node * state_.nodes.size() + kSteps_per_job;
    for (const auto& [node, planned] : planned_) {
      steps += kSteps_per_job * state_.find_node(node)->jobs.size();
    }
    // Time jumps from one instant at which something is due to the next.
    for (; steps > 0; --steps) {
      decide_now();
      if (is_done()) break;
      // kNever: nothing is due by itself any more, so whatever is missing waits for people.
      at = next();
      if (at == kNever) break;
      brain_.begin_batch(std::max(at, state_.now), state_.epoch);
      answer();
    }
    return result();
  }

 private:
  void tell(Event event) { brain_.apply(StampedEvent{std::move(event), Cause{}}); }

  void decide_now() {
    for (const Decision& decision : brain_.decide(options_)) {
      if (const auto* move = std::get_if<MoveNode>(&decision)) moved(*move);
      if (const auto* stop = std::get_if<Stop>(&decision)) stopped(*stop);
    }
    for (auto& [node, planned] : planned_) {
      // Asked after each decision, so that the first instant without jobs is the one that counts.
      const Node& now = *state_.find_node(node);
      if (planned.from != kNever && planned.idle == kNever && is_idle(now))
        planned.idle = state_.now;
    }
  }

  static bool is_idle(const Node& node) {
    return node.life == LifeStage::kRepair || node.life == LifeStage::kTest || node.jobs.empty();
  }

  void moved(const MoveNode& move) {
    const auto found = planned_.find(move.node);
    if (found == planned_.end()) return;
    PlannedMaintenance& planned = found->second;
    const bool taken = move.to == LifeStage::kDraining || move.to == LifeStage::kRepair;
    if (taken && planned.from == kNever) {
      planned.from = state_.now;
      order_.push_back(move.node);
      const std::vector<JobId>& jobs = state_.find_node(move.node)->jobs;
      // A new agent leaves tasks running.
      (move.remedy == Remedy::kAgent ? planned.go_on : planned.end)
          .assign(jobs.begin(), jobs.end());
    }
    // Back counts only after it was taken: it may have been in production all along.
    if (move.to == LifeStage::kProduction && planned.from != kNever) planned.back = state_.now;
  }

  void stopped(const Stop& stop) {
    if (stop.purpose != Purpose::kOutage) return;
    const Job& job = *state_.find_job(stop.job);
    for (auto& [node, planned] : planned_) {
      // An upper bound until now: it was to end in time; now it is stopped.
      if (std::erase(planned.end, stop.job) == 0) continue;
      const bool saves =
          job.spec->checkpoint_signal != 0 || job.spec->preempt == Preempt::kCheckpoint;
      (saves ? planned.saved : planned.again).push_back(stop.job);
    }
  }

  // Drained for good, there is nothing more to come.
  bool is_done() const {
    return std::all_of(planned_.begin(), planned_.end(), [this](const auto& one) {
      return wish_.request.action == NodeAction::kDrain ? one.second.idle != kNever
                                                        : one.second.back != kNever;
    });
  }

  bool is_away(const Node& node) const {
    const bool ordered = node.life == LifeStage::kRepair || node.life == LifeStage::kTest;
    // Replacement waits for people, whose time is not known.
    return ordered && node.answer == Answer::kAwaited && node.remedy != Remedy::kReplace;
  }

  // The test that follows a remedy is in its time.
  Instant back_at(const Node& node) const {
    const bool after = node.life == LifeStage::kTest && planned_.contains(node.id);
    // The wish says that a remedy takes `each`; the test that follows it is counted in that.
    return after ? state_.now : node.life_since + wish_.each;
  }

  template <class Visit>
  void each_awaited(Visit visit) const {
    for (const Node& node : state_.nodes) {
      if (node.life != LifeStage::kDraining) continue;
      for (const JobId id : node.jobs) visit(id);
    }
  }

  Instant next() const {
    Instant at = kNever;
    for (const Node& node : state_.nodes) {
      at = std::min(at, is_away(node) ? back_at(node) : maintenance_wake(state_, node));
    }
    // By limits, as no better is known: jobs end at the latest then.
    each_awaited(
        [&](JobId id) { at = std::min(at, places_free_at(state_, *state_.find_job(id))); });
    return at;
  }

  // What the agents would say by now.
  void answer() {
    // Collected first: to tell them changes the nodes that are walked.
    std::vector<Event> said;
    for (const Node& node : state_.nodes) {
      if (!is_away(node) || back_at(node) > state_.now) continue;
      if (node.life == LifeStage::kTest) {
        said.emplace_back(NodeTested{node.id, true, ""});
      } else {
        said.emplace_back(RemedyEnded{node.id, node.remedy, true, ""});
      }
    }
    std::set<JobId> over;
    each_awaited([&](JobId id) {
      if (places_free_at(state_, *state_.find_job(id)) <= state_.now) over.insert(id);
    });
    for (const JobId id : over) {
      const Attempt& attempt = state_.find_job(id)->attempts.back();
      for (const PlacementRecord& record : attempt.placements) {
        if (record.stage == PlacementStage::kEnded) continue;
        said.emplace_back(PlacementEnded{id, attempt.number, record.placement->node, {}, 0, 0});
      }
    }
    for (Event& event : said) tell(std::move(event));
  }

  MaintenancePlan result() {
    MaintenancePlan plan;
    plan.done = state_.now;
    // Those that were never taken come last, in order of id.
    for (const auto& [node, planned] : planned_) {
      if (planned.from == kNever) order_.push_back(node);
    }
    std::set<JobId> endless;
    for (const NodeId id : order_) {
      const PlannedMaintenance& planned = planned_.at(id);
      const bool drains = wish_.request.action == NodeAction::kDrain;
      // One node without an end (kNever) makes the whole plan endless.
      plan.done = std::max(plan.done, drains ? planned.idle : planned.back);
      plan.nodes.push_back(planned);
    }
    // These are why there is no end: people have to stop them.
    each_awaited([&](JobId id) {
      if (places_free_at(state_, *state_.find_job(id)) == kNever) endless.insert(id);
    });
    if (plan.done == kNever) plan.endless.assign(endless.begin(), endless.end());
    return plan;
  }

  Scheduler brain_;  // of a fork
  const State& state_ = brain_.state();
  const MaintenanceRequest& wish_;
  CycleOptions options_;
  std::map<NodeId, PlannedMaintenance> planned_;
  std::vector<NodeId> order_;
};

}  // namespace

MaintenancePlan plan_maintenance(const State& state, const Policies& policies,
                                 const MaintenanceRequest& wish) {
  return Ahead(state, policies, wish).run();
}

}  // namespace dove::core
