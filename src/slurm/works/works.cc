#include "slurm/works/works.h"

#include <algorithm>
#include <csignal>
#include <set>

namespace dove::slurm {
namespace {

// The same again when it has not helped: the node may be the trouble.
constexpr std::int64_t kKillAgain_s = 30;
// A time server may set the clock back by less than this.
constexpr std::int64_t kClock_s = 5;

struct Due {
  int signal = 0;
  std::int64_t after_s = 0;  // since the first signal
};

// The signals that stop it, one after the other.
std::vector<Due> signals_of(const WantedWork& work) {
  std::vector<Due> all;
  std::int64_t after_s = 0;
  if (work.checkpoint_signal > 0) {
    all.push_back({work.checkpoint_signal, 0});
    after_s = work.checkpoint_grace_s;
  }
  all.push_back({work.stop_signal, after_s});
  after_s += work.grace_s;
  all.push_back({SIGKILL, after_s});
  return all;
}

std::vector<TaskEnd> all_lost(const WantedWork& work) {
  std::vector<TaskEnd> ends;
  for (const int rank : work.ranks) ends.push_back({rank, 0, SIGKILL, "executor_lost"});
  return ends;
}

class Planner {
 public:
  Planner(const Allocations& allocations, const std::map<PlaceholderKey, std::string>& refused,
          std::int64_t now_s, WorkPlan& plan)
      : held_(allocations.held),
        begun_(allocations.begun),
        living_(allocations.living),
        known_(allocations.known),
        refused_(refused),
        now_s_(now_s),
        plan_(plan) {}

  void meet(const WantedWork& work, const StepSeen* step) {
    if (step == nullptr) return not_begun(work);
    switch (step->state) {
      case StepSeen::State::kRunning:
        report(work, false, ends_said(step->said, work.ranks));
        if (is_over(*step)) return give_up(*step);
        if (work.stop) return stop(work, *step);
        return warn(work, *step);
      case StepSeen::State::kEnded:
        return ended(work, *step);
      case StepSeen::State::kLost:
        return lost(work);
    }
  }

  // Nobody wants it any more.
  void unwanted(const StepSeen& step) {
    if (step.state != StepSeen::State::kRunning) return plan_.forget.push_back(step.key);
    // It ends with its placeholder, which is not wanted either.
    if (is_over(step)) give_up(step);
  }

 private:
  // Whether its allocation has ended. A later one of the same placement is another one.
  bool is_over(const StepSeen& step) const {
    if (step.slurm_job == 0) return false;
    const auto at = living_.find(step.slurm_job);
    return at == living_.end() || at->second != JobAttempt(step.key.job, step.key.attempt);
  }

  void give_up(const StepSeen& step) {
    if (!step.is_given_up) plan_.give_up.push_back(step.key);
  }

  void report(const WantedWork& work, bool has_ended, std::vector<TaskEnd> exits,
              std::string why = "") {
    plan_.reports.push_back({work.key, has_ended, std::move(exits), std::move(why)});
  }

  void not_begun(const WantedWork& work) {
    const auto refused = refused_.find(work.key);
    if (refused != refused_.end()) return report(work, true, {}, refused->second);
    // Whoever began it may have gone with all that it knew: it is not begun again.
    if (work.started || begun_.contains(work.key)) return lost(work);
    if (!known_) return;
    if (work.stop) return report(work, true, {});
    if (!work.program) return report(work, true, {}, "what it should run is no longer known");
    const auto held = held_.find(work.key);
    if (held != held_.end() && held->second != kEnding_job) plan_.begin.push_back(&work);
  }

  void ended(const WantedWork& work, const StepSeen& step) {
    std::vector<TaskEnd> ends = ends_of(step.said, step.code, work.ranks);
    if (!ends.empty()) return report(work, true, std::move(ends));
    // It had no tasks of its own: another node of a script.
    if (work.stop && work.ranks.empty()) return report(work, true, {});
    // A srun that was killed, or said nothing of its tasks, leaves them running.
    constexpr int kKilled = 128;
    if (work.started || step.code >= kKilled) return lost(work);
    if (work.stop) return report(work, true, {});
    report(work, true, {}, why_not_begun(step.said, step.code));
  }

  // What runs in its allocation ends with it; only then is it reported as ended. One whose
  // processes are being ended is reported as gone, and its work as what may still run.
  void lost(const WantedWork& work) {
    if (!known_) return report(work, false, {});
    const auto held = held_.find(work.key);
    if (held != held_.end()) {
      if (held->second == kEnding_job) return report(work, false, {});
      plan_.release.push_back(held->second);
      return;
    }
    report(work, true, all_lost(work));
  }

  void warn(const WantedWork& work, const StepSeen& step) {
    const bool is_due = work.warning.signal > 0 && now_s_ >= work.warning.at_s;
    if (!is_due || step.is_warned) return;
    plan_.signals.push_back({step, work.warning.signal, 0, work.warning});
  }

  void stop(const WantedWork& work, const StepSeen& step) {
    const std::vector<Due> all = signals_of(work);
    if (step.stop_since_s > now_s_ + kClock_s) return stop_anew(step, all);
    const std::int64_t since_s = step.stop_since_s > 0 ? step.stop_since_s : now_s_;
    const auto sent = static_cast<std::size_t>(step.signals);
    if (sent < all.size()) {
      if (now_s_ - since_s < all[sent].after_s) return;
      plan_.signals.push_back({step, all[sent].signal, step.signals + 1});
      return;
    }
    if (now_s_ - since_s >= all.back().after_s + kKillAgain_s) {
      plan_.release.push_back(step.slurm_job);
    }
  }

  // The clock was set back, perhaps while no adapter ran: nobody knows how long it has had. It has
  // its time from now on. Its last signal comes again, which keeps that.
  void stop_anew(StepSeen step, const std::vector<Due>& all) {
    const int last = std::clamp(step.signals, 1, static_cast<int>(all.size()));
    step.stop_since_s = 0;
    plan_.signals.push_back({step, all[static_cast<std::size_t>(last) - 1].signal, last});
  }

  const std::map<PlaceholderKey, std::int64_t>& held_;
  const std::set<PlaceholderKey>& begun_;
  const std::map<std::int64_t, JobAttempt>& living_;
  const bool known_;
  const std::map<PlaceholderKey, std::string>& refused_;
  const std::int64_t now_s_;
  WorkPlan& plan_;
};

}  // namespace

std::vector<NodeHeld> held_nodes(const WantedWork& script, const std::vector<WantedWork>& works,
                                 const std::vector<PlaceholderReport>& reports,
                                 const Observed& observed) {
  std::map<int, NodeHeld> by_rank;
  for (const WantedWork& work : works) {
    if (work.key.job != script.key.job || work.key.attempt != script.key.attempt) continue;
    for (const PlaceholderReport& one : reports) {
      if (one.key != work.key || one.state != PlaceholderState::kConfirmed) continue;
      const NodeSeen* node = observed.find_node(work.key.node);
      const int cpus_per_core = node == nullptr ? 1 : node->cpus_per_core;
      by_rank[work.node_rank] = {one.id, std::max(work.cores, 1) * cpus_per_core};
    }
  }
  std::vector<NodeHeld> nodes;
  if (static_cast<int>(by_rank.size()) != script.nodes) return nodes;
  for (const auto& [rank, node] : by_rank) nodes.push_back(node);
  return nodes;
}

WorkPlan plan_works(const std::vector<WantedWork>& wanted, const std::vector<StepSeen>& steps,
                    const Allocations& allocations,
                    const std::map<PlaceholderKey, std::string>& refused, std::int64_t now_s) {
  WorkPlan plan;
  std::map<PlaceholderKey, const StepSeen*> by_key;
  for (const StepSeen& step : steps) by_key[step.key] = &step;
  Planner planner(allocations, refused, now_s, plan);
  std::set<PlaceholderKey> named;
  for (const WantedWork& work : wanted) {
    if (!work.foreign_job.empty() || !named.insert(work.key).second) continue;
    const auto step = by_key.find(work.key);
    planner.meet(work, step == by_key.end() ? nullptr : step->second);
  }
  for (const StepSeen& step : steps) {
    if (!named.contains(step.key)) planner.unwanted(step);
  }
  return plan;
}

std::vector<WorkReport> refused_works(const PlanMemory& memory) {
  std::vector<WorkReport> reports;
  for (const auto& [key, refusal] : memory.refused) {
    if (refusal.is_final) reports.push_back({key, true, {}, refusal.why});
  }
  return reports;
}

std::vector<WorkReport> unseen_works(const std::vector<WantedWork>& wanted,
                                     const Allocations& allocations) {
  std::vector<WorkReport> reports;
  for (const WantedWork& work : wanted) {
    const bool may_run = work.started || allocations.begun.contains(work.key);
    if (work.foreign_job.empty() && may_run) reports.push_back({work.key, false, {}, ""});
  }
  return reports;
}

}  // namespace dove::slurm
