#include "slurm/gate/gate_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <optional>
#include <utility>

#include "slurm/gate/difference.h"
#include "slurm/gres.h"
#include "text/hostlist.h"

namespace dove::slurm {
namespace {

using Keys = std::vector<const Wanted*>;

bool has_place(const JobSeen& job) {
  return read_mark(job.mark).job != 0 && read_mark(job.mark).restarts == job.gate->restarts;
}

bool is_placed_for(const JobSeen& job, const GateStart& start) {
  const GateMark mark = read_mark(job.mark);
  return has_place(job) && mark.job == start.job && mark.attempt == start.attempt;
}

std::string mark_without_place(const JobSeen& job) {
  GateMark mark = read_mark(job.mark);
  mark.job = mark.attempt = 0;
  mark.is_seen = false;
  mark.gpus.clear();
  return write_mark(mark);
}

GatePutBack back(const JobSeen& job, std::string why) {
  return {job.id,
          mark_without_place(job),
          job.phase == JobPhase::kWaiting,
          job.gate->may_requeue,
          /*is_warned=*/false,
          std::move(why)};
}

std::vector<int> sorted(std::vector<int> list) {
  std::sort(list.begin(), list.end());
  return list;
}

class GatePlanner {
 public:
  GatePlanner(const Observed& observed, const std::vector<WantedWork>& works,
              const GateMemory& memory, const std::string& cluster, std::int64_t now_s,
              GatePlan& plan)
      : observed_(observed),
        memory_(memory),
        now_s_(now_s),
        plan_(plan),
        fences_(observed, cluster) {
    for (const WantedWork& work : works) {
      if (!work.foreign_job.empty()) works_[work.key] = &work;
    }
    for (const JobSeen& job : observed.jobs) {
      if (job.gate) jobs_[job.id] = &job;
    }
  }

  void meet(const GateStart& start, const Keys& keys) {
    const JobSeen* job = job_of(*keys.front());
    if (job == nullptr) return gone(start, keys);
    known_.insert(job->id);
    switch (job->phase) {
      case JobPhase::kWaiting:
        return waits(start, keys, *job);
      case JobPhase::kHolding:
        return holds(start, keys, *job);
      case JobPhase::kEnding:
        return ends(start, keys, *job);
      case JobPhase::kEnded:
        return ended(start, keys, *job);
    }
  }

  // Those that were let go come first: their fences stand already.
  void start_all() {
    std::stable_partition(starts_.begin(), starts_.end(),
                          [](const Starting& one) { return !one.job->gate->is_held; });
    for (const Starting& one : starts_) start(one);
    plan_.fences = fences_.missing();
    plan_.suspend = fences_.to_suspend();
    plan_.release = fences_.without_reason();
  }

  // Stopped attempts for which nothing is to be held any more: the ledger waits for their ends.
  void leftovers(const std::map<GateStart, Keys>& starts) {
    std::set<std::int64_t> stopped;
    for (const auto& [key, work] : works_) {
      const GateStart start{key.job, key.attempt};
      if (!work->stop || starts.contains(start)) continue;
      const JobSeen* job = job_named(work->foreign_job);
      const bool is_its = job != nullptr && is_placed_for(*job, start);
      if (is_its && job->phase == JobPhase::kHolding) {
        known_.insert(job->id);
        if (stopped.insert(job->id).second) stop(*work, *job);
        continue;
      }
      const bool may_start = is_its && job->phase == JobPhase::kWaiting && !job->gate->is_held;
      if (may_start || (is_its && job->phase == JobPhase::kEnding)) continue;
      plan_.works.push_back({key, true, {}, ""});
    }
  }

  // What runs or was let go and is nobody's whom the ledger wants.
  void strays() {
    for (const auto& [id, job] : jobs_) {
      if (known_.contains(id)) continue;
      if (job->phase == JobPhase::kWaiting && !job->gate->is_held) {
        plan_.put_back.push_back(back(*job, "it has no place"));
      }
      const bool is_late =
          job->phase == JobPhase::kHolding && has_place(*job) && !read_mark(job->mark).is_seen;
      if (is_late) plan_.put_back.push_back(back(*job, "its place was taken back"));
    }
  }

 private:
  struct Starting {
    GateStart start;
    const Keys* keys;
    const JobSeen* job;
  };

  const JobSeen* job_of(const Wanted& wanted) const { return job_named(wanted.foreign_job); }

  static std::int64_t number_of(const std::string& text) {
    std::int64_t id = 0;
    std::from_chars(text.data(), text.data() + text.size(), id);
    return id;
  }

  const JobSeen* job_named(const std::string& text) const {
    const auto found = jobs_.find(number_of(text));
    return found == jobs_.end() ? nullptr : found->second;
  }

  void report(const Keys& keys, PlaceholderState state, std::int64_t id, const std::string& why) {
    for (const Wanted* one : keys) plan_.reports.push_back({one->key, id, state, why, {}});
  }

  void refuse(const GateStart& start, const Keys& keys, const std::string& why) {
    plan_.newly_refused[start] = why;
    report(keys, PlaceholderState::kRefused, 0, why);
  }

  void confirm(const Keys& keys, const JobSeen& job) {
    plan_.confirmed.insert(job.id);
    for (const Wanted* one : keys) {
      PlaceholderReport& report = plan_.reports.emplace_back();
      report = {one->key, job.id, PlaceholderState::kConfirmed, "", sorted(one->devices)};
      for (const NodeAllocation& held : job.allocations) {
        if (held.node == one->key.node) report.cores = held.cores;
      }
    }
  }

  // Whether the ledger has decided the start, or a stop.
  bool has_work(const Keys& keys) const {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const Wanted* one) { return works_.contains(one->key); });
  }

  void end_works(const Keys& keys, int wait_status, const std::string& cause) {
    for (const Wanted* one : keys) {
      const auto work = works_.find(one->key);
      if (work == works_.end()) continue;
      WorkReport over{one->key, true, {}, ""};
      for (const int rank : work->second->ranks) {
        over.exits.push_back({rank, (wait_status >> 8) & 0xff, wait_status & 0x7f, cause});
      }
      plan_.works.push_back(std::move(over));
    }
  }

  // A status of 0 is no success where Slurm's word is another one.
  static int status_of(const std::string& state, int wait_status) {
    return wait_status == 0 && state != "COMPLETED" ? SIGTERM : wait_status;
  }

  bool is_stopped(const Keys& keys) const {
    return std::any_of(keys.begin(), keys.end(), [&](const Wanted* one) {
      const auto work = works_.find(one->key);
      return work != works_.end() && work->second->stop;
    });
  }

  // Slurm does not put back what it has forgotten, so nothing of it is lost to run again.
  void gone(const GateStart& start, const Keys& keys) {
    const std::string& name = keys.front()->foreign_job;
    const std::string why = fmt::format("Slurm has no job {} any more", name);
    if (!has_work(keys)) return refuse(start, keys, why);
    PastEnd end;
    if (!is_stopped(keys)) {
      const std::int64_t id = number_of(name);
      plan_.gone.insert(id);
      const auto past = memory_.past.find(id);
      if (past == memory_.past.end()) return goes_on(keys, id);
      end = past->second;
    }
    report(keys, PlaceholderState::kEnded, 0, why);
    if (!end.state.empty()) {
      const std::string cause = end.state.ends_with("_FAIL") ? "node_failed: " + end.state : "";
      return end_works(keys, status_of(end.state, end.wait_status), cause);
    }
    end_works(keys, 0, fmt::format("end_unknown: {}, and no accounting of its end", why));
  }

  // As far as is known.
  void goes_on(const Keys& keys, std::int64_t id) {
    plan_.confirmed.insert(id);
    for (const Wanted* one : keys) {
      plan_.reports.push_back(
          {one->key, id, PlaceholderState::kConfirmed, "", sorted(one->devices)});
      if (works_.contains(one->key)) plan_.works.push_back({one->key, false, {}, ""});
    }
  }

  void waits(const GateStart& start, const Keys& keys, const JobSeen& job) {
    const bool may_start = !job.gate->is_held && is_placed_for(job, start);
    if (has_work(keys) && may_start) {
      // Stopped after it was let go: it may begin at any moment, and its devices are its own until
      // it is held again.
      plan_.put_back.push_back(back(job, "its place was taken back"));
      return report(keys, PlaceholderState::kAsked, 0, "");
    }
    if (has_work(keys)) {  // it was put back into Slurm's queue
      report(keys, PlaceholderState::kEnded, job.id, "it waits in Slurm again");
      return end_works(keys, SIGKILL, "executor_lost");
    }
    if (const auto refused = memory_.refused.find(start); refused != memory_.refused.end()) {
      if (!job.gate->is_held) plan_.put_back.push_back(back(job, refused->second));
      return report(keys, PlaceholderState::kRefused, 0, refused->second);
    }
    if (!job.gate->is_held && !is_placed_for(job, start)) {
      plan_.put_back.push_back(back(job, "it has another place now"));
      return report(keys, PlaceholderState::kAsked, 0, "");
    }
    if (was_put_back_by_prolog(start, job)) {
      for (const Wanted* one : keys) plan_.surprises.insert(one->key.node);
      return refuse(start, keys, "Slurm gave it other devices, and the prolog put it back");
    }
    starts_.push_back({start, &keys, &job});
  }

  // Its place was for the run before, which never began. Most likely Slurm gave it other devices.
  static bool was_put_back_by_prolog(const GateStart& start, const JobSeen& job) {
    const GateMark mark = read_mark(job.mark);
    return mark.job == start.job && mark.attempt == start.attempt && !mark.gpus.empty() &&
           !mark.is_seen && mark.restarts < job.gate->restarts;
  }

  void holds(const GateStart& start, const Keys& keys, const JobSeen& job) {
    if (!is_placed_for(job, start)) {
      // It may have started while its place was taken back, after the prolog had looked.
      const bool is_known = has_place(job) && read_mark(job.mark).is_seen;
      if (!is_known) plan_.put_back.push_back(back(job, "it has started without a place"));
      return report(keys, PlaceholderState::kAsked, 0, "");
    }
    const std::string wrong = difference(job, keys, observed_);
    if (!wrong.empty() && !has_work(keys)) {
      for (const NodeAllocation& held : job.allocations) plan_.surprises.insert(held.node);
      plan_.put_back.push_back(back(job, wrong));
      return refuse(start, keys, wrong);
    }
    confirm(keys, job);
    bool stops = false;
    for (const Wanted* one : keys) {
      const auto work = works_.find(one->key);
      if (work == works_.end()) continue;
      plan_.works.push_back({one->key, false, {}, ""});
      if (work->second->stop && !std::exchange(stops, true)) stop(*work->second, job);
    }
    if (!has_work(keys) || read_mark(job.mark).is_seen) return;
    GateMark mark = read_mark(job.mark);
    mark.is_seen = true;
    plan_.marks.emplace_back(job.id, write_mark(mark));
  }

  void stop(const WantedWork& work, const JobSeen& job) {
    if (!work.put_back) return plan_.cancel.push_back(job.id);
    plan_.put_back.push_back(back(job, "the ledger gives its place to another"));
    plan_.put_back.back().is_warned = true;
  }

  void ends(const GateStart& start, const Keys& keys, const JobSeen& job) {
    if (is_placed_for(job, start) || has_work(keys)) return confirm(keys, job);
    report(keys, PlaceholderState::kAsked, 0, "");
  }

  void ended(const GateStart& start, const Keys& keys, const JobSeen& job) {
    if (!is_placed_for(job, start) && !has_work(keys)) {
      return refuse(start, keys, fmt::format("Slurm job {} is {}", job.id, job.state));
    }
    // Its devices are free in Slurm; the ledger hears of the end as soon as it knows of the start.
    confirm(keys, job);
    const bool is_lost = job.state.find("NODE_FAIL") != std::string::npos;
    end_works(keys, status_of(job.state, job.gate->wait_status), is_lost ? "executor_lost" : "");
  }

  // A node of Slurm refuses a run whose credential is of the second in which the last one was
  // ended, or older (slurm_cred.c), and the job fails. Slurm keeps it back for two minutes;
  // GateControl::place takes that away.
  bool was_just_put_back(const JobSeen& job) const {
    return job.gate->restarts > 0 && now_s_ - job.gate->submitted_s < kAnew_after_s;
  }

  static bool is_whole(const Wanted& wanted, const NodeSeen& node) {
    return wanted.devices.size() == node.device_types.size() &&
           static_cast<int>(wanted.cores.size()) >= node.cores_for_jobs();
  }

  // Why it cannot start there now; "": nothing keeps it. A refusal is for good.
  std::string obstacle(const Starting& one, const Wanted& wanted, bool& for_good) const {
    const NodeSeen* node = observed_.find_node(wanted.key.node);
    for_good = true;
    if (node == nullptr) return fmt::format("Slurm has no node {}", wanted.key.node);
    if (node->state != NodeSeen::State::kUp && !node->settles) {
      return fmt::format("node {} is {} in Slurm: {}", node->name,
                         node->state == NodeSeen::State::kDown ? "down" : "drained", node->reason);
    }
    const Result<std::string> gres = pinned_gres(node->device_types, wanted.devices);
    if (!gres.ok()) return gres.error().message;
    if (one.job->gate->is_exclusive && !is_whole(wanted, *node)) {
      return fmt::format(
          "it wants nodes of its own, and the ledger has less to give of {} than "
          "Slurm would: {} of {} cores, {} of {} devices (docs/operate/slurm.md)",
          node->name, wanted.cores.size(), node->cores_for_jobs(), wanted.devices.size(),
          node->device_types.size());
    }
    for_good = false;
    if (!node->registered) return "Slurm waits for the node to answer";
    const std::set<int> taken = fences_.taken_on(node->name, one.start);
    for (const int device : wanted.devices) {
      if (taken.contains(device)) {
        return fmt::format("Slurm has not freed device {} of {} yet", device, node->name);
      }
    }
    const bool is_free = wanted.devices.empty() || !busy_.contains(node->name);
    return is_free ? "" : fmt::format("another job is starting on {}", node->name);
  }

  // Whether Slurm gives it, of several free devices there, the one of the lowest index. Several
  // devices may be chosen by their links, which it does not tell.
  bool gets_lowest(const Starting& one, const Wanted& wanted) const {
    const NodeSeen& node = *observed_.find_node(wanted.key.node);
    const auto surprised = memory_.surprised_s.find(node.name);
    const bool is_surprised =
        surprised != memory_.surprised_s.end() && now_s_ - surprised->second < kSurprisedFor_s;
    const bool is_fixed = !one.job->gate->divides_gpus;
    return is_fixed && wanted.devices.size() == 1 && !node.devices_bound && !is_surprised;
  }

  void start(const Starting& one) {
    plan_.tried.insert(one.start);
    if (is_late(one)) return give_up(one, why_late(one));
    if (was_just_put_back(*one.job)) {
      return report(*one.keys, PlaceholderState::kAsked, 0,
                    "its last run in Slurm has ended a moment ago");
    }
    for (const Wanted* wanted : *one.keys) {
      bool for_good = false;
      const std::string why = obstacle(one, *wanted, for_good);
      if (why.empty()) continue;
      if (for_good) return give_up(one, why);
      return report(*one.keys, PlaceholderState::kAsked, 0, why);
    }
    bool fenced = true;
    for (const Wanted* wanted : *one.keys) {
      if (wanted->devices.empty()) continue;
      busy_.insert(wanted->key.node);
      // A fence would keep off one that wants the node to itself, and nothing else is free there.
      if (one.job->gate->is_exclusive) continue;
      fenced = fences_.stand(*one.job, one.start, *wanted, gets_lowest(one, *wanted)) && fenced;
    }
    report(*one.keys, PlaceholderState::kAsked, 0, "");
    if (fenced && one.job->gate->is_held) place(one);
  }

  std::string why_late(const Starting& one) const {
    if (!one.job->gate->is_held) {
      return fmt::format("Slurm has not started it within {} s ({})", kGateStartWithin_s,
                         one.job->gate->reason);
    }
    for (const Wanted* wanted : *one.keys) {
      const auto last = memory_.fence_trouble.find(wanted->key.node);
      if (last == memory_.fence_trouble.end()) continue;
      return fmt::format("no fence on {}, which takes one free core there: {}", wanted->key.node,
                         last->second);
    }
    return fmt::format("its devices were not free in Slurm within {} s", kGateStartWithin_s);
  }

  bool is_late(const Starting& one) const {
    const auto since = memory_.since_s.find(one.start);
    return since != memory_.since_s.end() && now_s_ - since->second >= kGateStartWithin_s;
  }

  // What was let go is taken back first; until then it may start.
  void give_up(const Starting& one, const std::string& why) {
    if (!one.job->gate->is_held) {
      plan_.put_back.push_back(back(*one.job, why));
      return report(*one.keys, PlaceholderState::kAsked, 0, why);
    }
    refuse(one.start, *one.keys, why);
  }

  // One that wants nodes of its own gets less from Slurm than from the ledger, which is no fault.
  static std::string gpus_of(const Starting& one) {
    if (one.job->gate->is_exclusive) return "";
    std::map<std::string, std::vector<int>> devices;
    for (const Wanted* wanted : *one.keys) devices[wanted->key.node] = sorted(wanted->devices);
    return write_gpus(devices);
  }

  void place(const Starting& one) {
    GateMark mark = read_mark(one.job->mark);
    mark.job = one.start.job;
    mark.attempt = one.start.attempt;
    mark.restarts = one.job->gate->restarts;
    mark.is_seen = mark.user_hold = false;
    mark.gpus = gpus_of(one);
    if (!mark.nodes) mark.nodes = one.job->gate->nodes_wanted;
    std::vector<std::string> nodes;
    for (const Wanted* wanted : *one.keys) nodes.push_back(wanted->key.node);
    GatePlacing placing{one.job->id, write_mark(mark), text::fold_hostlist(nodes), nodes.front()};
    const GateSeen& gate = *one.job->gate;
    // As many as the ledger gave: what Slurm estimates may have changed since.
    const int count = static_cast<int>(nodes.size());
    // Slurm would add nodes to those that it is told.
    if (gate.may_have_more_nodes || count > 1) placing.nodes_exactly = count;
    // Left alone it takes as many CPUs as are free on the first node, and the rest on the others.
    if (count > 1 && !gate.is_exclusive) {
      placing.cpus_of_each = count == gate.nodes ? gate.cpus / count : cpus_on_each(gate, count);
    }
    plan_.place.push_back(std::move(placing));
  }

  const Observed& observed_;
  const GateMemory& memory_;
  const std::int64_t now_s_;
  GatePlan& plan_;
  std::map<PlaceholderKey, const WantedWork*> works_;
  std::map<std::int64_t, const JobSeen*> jobs_;
  std::set<std::int64_t> known_;
  std::vector<Starting> starts_;
  std::set<std::string> busy_;  // nodes on which a job with devices is starting
  GateFences fences_;
};

// What is to end on a node that has yet to register ends at a later look.
void leave(const std::set<std::int64_t>& jobs, GatePlan& plan) {
  std::erase_if(plan.release, [&](std::int64_t id) { return jobs.contains(id); });
  std::erase_if(plan.suspend, [&](std::int64_t id) { return jobs.contains(id); });
  std::erase_if(plan.cancel, [&](std::int64_t id) { return jobs.contains(id); });
  std::erase_if(plan.put_back,
                [&](const GatePutBack& one) { return jobs.contains(one.slurm_job); });
}

}  // namespace

GatePlan plan_gate(const Observed& observed, const std::vector<Wanted>& wanted,
                   const std::vector<WantedWork>& works, const GateMemory& memory,
                   const std::string& cluster, std::int64_t now_s) {
  GatePlan plan;
  std::map<GateStart, Keys> starts;
  for (const Wanted& one : wanted) {
    if (!one.foreign_job.empty()) starts[{one.key.job, one.key.attempt}].push_back(&one);
  }
  GatePlanner planner(observed, works, memory, cluster, now_s, plan);
  for (const auto& [start, keys] : starts) planner.meet(start, keys);
  planner.leftovers(starts);
  planner.start_all();
  planner.strays();
  leave(observed.jobs_to_leave(), plan);
  return plan;
}

void move_back(GateMemory& memory, std::int64_t back_s) {
  for (auto& [start, since_s] : memory.since_s) since_s -= back_s;
  for (auto& [node, at_s] : memory.surprised_s) at_s -= back_s;
}

}  // namespace dove::slurm
