// The pass kNodes: the life of nodes (suspects, drains, repairs and tests), one step at a time.
#include <fmt/format.h>

#include <algorithm>

#include "core/cycle/passes.h"
#include "core/cycle/wake.h"
#include "core/nodes/maintenance.h"
#include "core/place/reservation.h"
#include "core/state/findings.h"

namespace dove::core {
namespace {

// Out of service for a remedy, and expected back without people.
bool counts_as_away(const Node& node) {
  switch (node.life) {
    case LifeStage::kProduction:
    case LifeStage::kOnboard:
    case LifeStage::kSuspect:
      return false;
    // Drained by hand, nobody expects it back: it does not use up what may be away at once.
    case LifeStage::kDraining:
      return node.remedy != Remedy::kNone;
    case LifeStage::kTest:
      return true;
    // Replacement is up to people, and may take weeks. It must not keep other nodes from their
    // upgrades.
    case LifeStage::kRepair:
      return node.remedy != Remedy::kReplace;
  }
  return false;
}

Remedy remedy_of(NodeAction action) {
  switch (action) {
    case NodeAction::kNone:
    case NodeAction::kDrain:
    case NodeAction::kResume:
    case NodeAction::kExpel:
      return Remedy::kNone;
    case NodeAction::kReboot:
      return Remedy::kReboot;
    case NodeAction::kUpgrade:
      return Remedy::kUpgrade;
    case NodeAction::kUpgradeAgent:
      return Remedy::kAgent;
  }
  return Remedy::kNone;
}

// From the gentlest to the harshest: a reset loses a device for seconds, a reboot the node for
// minutes.
// What is tried when a remedy did not help; kNone: people must look.
Remedy next_remedy(Remedy remedy) {
  switch (remedy) {
    case Remedy::kReset:
      return Remedy::kReboot;
    case Remedy::kReboot:
      return Remedy::kReplace;
    case Remedy::kNone:
    case Remedy::kReplace:
    case Remedy::kUpgrade:
    case Remedy::kAgent:
      return Remedy::kNone;
  }
  return Remedy::kNone;
}

class Maintenance {
 public:
  explicit Maintenance(Cycle& cycle) : cycle_(cycle), state_(cycle.state) {
    // Counted anew in each cycle, over the few nodes that are not simply in production.
    for (const NodeId id : cycle.indexes.in_maintenance) {
      if (counts_as_away(*state_.find_node(id))) ++away_;
    }
  }

  // Those that are free first, then those whose work ends first.
  void run() {
    // Few nodes may be away at once (max_unavailable). The ones that are free go first, as nobody
    // loses anything by it.
    std::vector<std::pair<Instant, NodeId>> nodes;
    for (const NodeId id : cycle_.indexes.in_maintenance) {
      nodes.emplace_back(idle_at(*state_.find_node(id)), id);
    }
    std::sort(nodes.begin(), nodes.end());
    for (const auto& [at, id] : nodes) maintain(id);
  }

 private:
  const Node& node(NodeId id) const { return *state_.find_node(id); }

  Instant idle_at(const Node& node) const {
    Instant at;
    for (const JobId id : node.jobs) at = std::max(at, time_limit_at(state_, *state_.find_job(id)));
    return at;
  }

  void maintain(NodeId id) {
    // Before the node moves on: what runs there is not to be trusted, whatever becomes of the node.
    stop_untrusted(id);
    // A node takes a few steps at most before something must come from outside.
    // A node moves through several stages within one instant (suspect, draining, repair), when
    // nothing stands in between. The bound is a guard against a circle.
    for (int steps = 0; steps < 4; ++steps) {
      const Node& it = node(id);
      const LifeStage before = it.life;
      const Instant since = it.life_since;
      const Remedy remedy = it.remedy;
      step(it);
      // The fold may have changed it; `it` is only good until the decision.
      const Node& now = node(id);
      if (now.life == before && now.life_since == since && now.remedy == remedy) return;
      if (now.life == before) return;
    }
  }

  void step(const Node& node) {
    switch (node.life) {
      case LifeStage::kProduction:
        return leave_production(node);
      case LifeStage::kOnboard:
        return move(node, LifeStage::kTest, Remedy::kNone, "it has joined");
      case LifeStage::kSuspect:
        return treat(node);
      case LifeStage::kDraining:
        return drain(node);
      case LifeStage::kRepair:
        return repair(node);
      case LifeStage::kTest:
        return test(node);
    }
  }

  void leave_production(const Node& node) {
    // A fault first: it waits for no other node, as it is of no use either way.
    if (const Finding* finding = closing_finding(node)) {
      return move(node, LifeStage::kSuspect, finding->remedy, finding_text(*finding));
    }
    if (const auto blamed = blame(state_, node)) {
      return move(node, LifeStage::kSuspect, Remedy::kNone, *blamed);
    }
    const NodeRequest& request = node.request;
    const Remedy remedy = remedy_of(request.action);
    if (request.action == NodeAction::kDrain) {
      return move(node, LifeStage::kDraining, Remedy::kNone, request.why, request.who);
    }
    if (remedy == Remedy::kNone || !another_may_go()) return;
    // An agent is upgraded under running tasks: no drain.
    const LifeStage to = remedy == Remedy::kAgent ? LifeStage::kRepair : LifeStage::kDraining;
    move(node, to, remedy, request.why, request.who);
  }

  void treat(const Node& node) {
    if (resumed(node)) return;
    const Finding* finding = closing_finding(node);
    const auto blamed = blame(state_, node);
    if (finding == nullptr && !blamed) {
      return move(node, LifeStage::kTest, Remedy::kNone, "what was found is over");
    }
    const bool asked_reboot = node.request.action == NodeAction::kReboot;
    Remedy remedy = finding == nullptr ? Remedy::kNone : finding->remedy;
    if (asked_reboot) remedy = Remedy::kReboot;
    // It was repaired often enough: another reboot would only cost the next job its work.
    if (is_lemon(state_, node) && !asked_reboot) {
      return move(node, LifeStage::kRepair, Remedy::kReplace,
                  fmt::format("{} faults within {} days, the last: {}", node.faults.size(),
                              state_.settings.lemon_window.us / 86'400'000'000, node.life_why));
    }
    // A failed test before a job's start says nothing certain. The node's own tests do.
    const bool to_test = finding != nullptr && finding->check == kPreflight_check;
    if (to_test && node.jobs.empty() && another_may_go()) {
      return move(node, LifeStage::kTest, Remedy::kNone, node.life_why);
    }
    if (remedy == Remedy::kNone || !another_may_go()) return;
    move(node, LifeStage::kDraining, remedy, node.life_why, asked_reboot ? node.request.who : "");
  }

  void drain(const Node& node) {
    if (resumed(node)) return;
    const Remedy wanted = remedy_of(node.request.action);
    if (node.remedy == Remedy::kNone && wanted != Remedy::kNone && another_may_go()) {
      return move(node, LifeStage::kDraining, wanted, node.request.why, node.request.who);
    }
    // Jobs are told to end in time for when the node is wanted; until then they run on.
    stop_in_time(node);
    if (!node.jobs.empty() || node.remedy == Remedy::kNone) return;
    move(node, LifeStage::kRepair, node.remedy, node.life_why, node.life_who);
  }

  void repair(const Node& node) {
    if (resumed(node)) return;
    const bool late = maintenance_wake(state_, node) <= state_.now;
    if (node.answer == Answer::kDone) {
      // After its agent was renewed nothing of the hardware is in doubt.
      const LifeStage to =
          node.remedy == Remedy::kAgent ? LifeStage::kProduction : LifeStage::kTest;
      return move(node, to, Remedy::kNone, node.life_why, node.life_who);
    }
    if (node.answer != Answer::kFailed && !late) return;
    // The next, harsher remedy; when none is left, people must look.
    const Remedy next = next_remedy(node.remedy);
    const std::string why = late ? "its agent did not answer" : node.life_why;
    if (next != Remedy::kNone) return move(node, LifeStage::kRepair, next, why);
    if (node.remedy != Remedy::kReplace) move(node, LifeStage::kSuspect, Remedy::kNone, why);
  }

  void test(const Node& node) {
    // Tests are the only way back into production.
    if (node.answer == Answer::kDone) {
      return move(node, LifeStage::kProduction, Remedy::kNone, "its tests passed");
    }
    const Finding* finding = closing_finding(node);
    if (node.answer == Answer::kFailed && finding != nullptr) {
      return move(node, LifeStage::kSuspect, finding->remedy, finding_text(*finding));
    }
    if (maintenance_wake(state_, node) <= state_.now) {
      move(node, LifeStage::kSuspect, Remedy::kNone, "its agent did not answer");
    }
  }

  // Somebody wants it back: through the tests, unless it was only drained.
  bool resumed(const Node& node) {
    if (node.request.action != NodeAction::kResume) return false;
    // What was closed by a finding has to prove itself first.
    const bool only_drained = node.life == LifeStage::kDraining && !is_closed(node);
    move(node, only_drained ? LifeStage::kProduction : LifeStage::kTest, Remedy::kNone,
         node.request.why, node.request.who);
    return true;
  }

  bool another_may_go() const { return away_ < state_.settings.max_unavailable; }

  void move(const Node& from, LifeStage to, Remedy remedy, std::string why, std::string who = "") {
    const NodeId id = from.id;
    // The count is kept while nodes move, so that one pass never takes more than may be away.
    away_ -= counts_as_away(from) ? 1 : 0;
    cycle_.emit(MoveNode{id, to, remedy, std::move(why), std::move(who)});
    away_ += counts_as_away(node(id)) ? 1 : 0;
  }

  void stop(JobId id) {
    const Attempt& attempt = state_.find_job(id)->attempts.back();
    if (attempt.stage == Stage::kStopping) return;
    cycle_.emit(Stop{id, attempt.number, StopReason::kPreempted, Purpose::kOutage, {}});
  }

  void stop_untrusted(NodeId id) {
    // A copy: to stop a job may change the list.
    const std::vector<JobId> jobs = node(id).jobs;
    for (const JobId job : jobs) {
      if (is_untrusted(state_, node(id), job)) stop(job);
    }
  }

  void stop_in_time(const Node& node) {
    const NodeId id = node.id;
    const std::vector<JobId> jobs = node.jobs;
    for (const JobId job : jobs) {
      const Node& now = *state_.find_node(id);
      if (stop_due_at(state_, now, *state_.find_job(job)) <= state_.now) stop(job);
    }
  }

  Cycle& cycle_;
  State& state_;
  std::int32_t away_ = 0;
};

}  // namespace

Back maintain_nodes(Cycle& cycle) {
  if (!cycle.indexes.in_maintenance.empty()) Maintenance(cycle).run();
  return std::nullopt;
}

}  // namespace dove::core
