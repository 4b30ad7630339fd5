#include "slurm/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "slurm/gres.h"
#include "slurm/holders.h"

namespace dove::slurm {
namespace {

// A placeholder ends later than its job is to, so that Slurm never ends it first.
constexpr std::int64_t kMargin_minutes = 2;
// Its end may be earlier than what is wanted by this much without being set anew.
constexpr std::int64_t kSlack_s = 180;
// Work may last beyond its end: its controller was away, or nothing proves that it is over. Its
// placeholder stays for this much longer each time that it is about to end.
constexpr std::int64_t kOverdue_s = 180;
constexpr const char kAwaitsFence[] = "a standing fence must hold its devices first";
constexpr const char kAwaitsItsEnd[] = "a standing fence must release its devices first";

struct Found {
  std::vector<const JobSeen*> living;    // marked, holding or waiting; the oldest first
  std::vector<const JobSeen*> unmarked;  // by our name, but nothing proves that they are ours
  const JobSeen* ended = nullptr;        // marked, and over or ending; the youngest
};

using FoundByKey = std::map<PlaceholderKey, Found>;

std::int64_t limit_minutes(std::int64_t from_s, std::int64_t until_s) {
  if (until_s == 0) return 0;
  return std::max<std::int64_t>((until_s - from_s + 59) / 60, 1) + kMargin_minutes;
}

// For a placeholder that is to stay until then, and now.
LimitChange to_stay(const JobSeen& job, std::int64_t until_s, std::int64_t now_s) {
  return {job.id, limit_minutes(job.started_s, std::max(until_s, now_s + kOverdue_s))};
}

// Whether it would end before that. One without an end gets none: Slurm would take the devices from
// work that is being stopped and does not stop.
bool ends_before(const JobSeen& job, const LimitChange& change) {
  return job.ends_s != 0 && job.ends_s + kSlack_s < job.started_s + change.limit_minutes * 60;
}

// Where it is or was; "" for one that holds nothing.
std::string node_of(const JobSeen& job) {
  return job.allocations.empty() ? "" : job.allocations[0].node;
}

bool is_marked(const JobSeen& job) {
  return job.mark == kMark || job.mark.starts_with(placeholder_mark(""));
}

// Which placeholder it is, or calls itself.
std::optional<JobAttempt> identity_of(const JobSeen& job, const std::string& cluster) {
  const std::string begin = placeholder_mark("");
  if (!job.mark.starts_with(begin)) return read_placeholder_name(job.name, cluster);
  const std::string_view named = std::string_view(job.mark).substr(begin.size());
  return read_placeholder_name(named.substr(0, named.find(' ')), cluster);
}

FoundByKey find_all(const Observed& observed, const std::vector<Wanted>& wanted,
                    const std::set<std::int64_t>& starting, const std::string& cluster,
                    std::vector<std::int64_t>& nowhere) {
  FoundByKey found;
  for (const JobSeen& job : observed.jobs) {
    const auto name = identity_of(job, cluster);
    if (!name) continue;
    const bool over = job.phase == JobPhase::kEnded || job.phase == JobPhase::kEnding;
    const bool marked = is_marked(job);
    if (over && !marked) continue;
    const std::string node = node_of(job);
    if (over) {
      if (node.empty()) continue;  // it never began
      for (const Wanted& one : wanted) {
        if (one.key.job != name->first || one.key.attempt != name->second) continue;
        if (node != one.key.node) continue;
        Found& here = found[one.key];
        if (here.ended == nullptr || here.ended->id < job.id) here.ended = &job;
      }
      continue;
    }
    if (node.empty()) {
      // It waits in Slurm's queue, where nothing else of ours may be.
      if (!starting.contains(job.id)) nowhere.push_back(job.id);
      continue;
    }
    Found& here = found[{name->first, name->second, node}];
    (marked ? here.living : here.unmarked).push_back(&job);
  }
  for (auto& [key, here] : found) {
    std::sort(here.living.begin(), here.living.end(),
              [](const JobSeen* a, const JobSeen* b) { return a->id < b->id; });
  }
  return found;
}

bool is_known(const Observed& observed, std::int64_t id) {
  return std::any_of(observed.jobs.begin(), observed.jobs.end(),
                     [id](const JobSeen& job) { return job.id == id; });
}

bool waits(const Observed& observed, std::int64_t id) {
  return std::any_of(observed.jobs.begin(), observed.jobs.end(), [id](const JobSeen& job) {
    return job.id == id && job.phase == JobPhase::kWaiting;
  });
}

bool may_start(const Starting& one, std::int64_t now_s) { return now_s - one.asked_s < kStart_s; }

// Those that are wanted still, and have time.
std::set<std::int64_t> starting_jobs(const std::vector<Wanted>& wanted, const PlanMemory& memory,
                                     std::int64_t now_s) {
  std::set<std::int64_t> ids;
  for (const Wanted& one : wanted) {
    const auto at = memory.starting.find(one.key);
    if (at != memory.starting.end() && may_start(at->second, now_s)) ids.insert(at->second.id);
  }
  return ids;
}

// What keeps it from being asked for; "" when nothing does. `devices`: those that no standing fence
// holds.
std::string obstacle(const Observed& observed, const Wanted& wanted,
                     const std::vector<int>& devices, const std::string& cluster, Ask& ask) {
  const NodeSeen* node = observed.find_node(wanted.key.node);
  if (node == nullptr) return fmt::format("Slurm has no node {}", wanted.key.node);
  if (node->state != NodeSeen::State::kUp) {
    return fmt::format("node {} is {} in Slurm: {}", node->name,
                       node->state == NodeSeen::State::kDown ? "down" : "drained", node->reason);
  }
  const Result<std::string> gres = pinned_gres(node->device_types, devices);
  if (!gres.ok()) return gres.error().message;
  if (const JobSeen* holder = holder_of(observed, node->name, wanted.devices, cluster)) {
    return fmt::format("Slurm job {} of {} {} on it", holder->id, holder->user,
                       holder->phase == JobPhase::kEnding ? "is still ending" : "runs");
  }
  ask.node = node->name;
  ask.partitions = node->partitions;
  ask.gres = *gres;
  ask.cpus = std::max<int>(static_cast<int>(wanted.cores.size()), 1) * node->cpus_per_core;
  return "";
}

class Planner {
 public:
  Planner(const Observed& observed, const DevicesOfNodes& kept, const PlanMemory& memory,
          const std::string& cluster, std::int64_t now_s, Plan& plan)
      : observed_(observed),
        kept_(kept),
        fenced_(fenced_devices(observed, cluster)),
        memory_(memory),
        cluster_(cluster),
        now_s_(now_s),
        plan_(plan) {}

  void meet(const Wanted& wanted, const Found& found) {
    for (const JobSeen* job : found.unmarked) plan_.cancel.push_back(job->id);
    if (!found.living.empty()) return keep(wanted, found);
    // They are to be gone before it is asked for.
    if (!found.unmarked.empty()) return report(wanted, 0, PlaceholderState::kAsked, "");
    if (const Starting* one = starting(wanted.key)) {
      if (!may_start(*one, now_s_)) {
        return refuse(wanted, "Slurm has no room: it has not started the job");
      }
      return report(wanted, 0, PlaceholderState::kAsked,
                    fmt::format("Slurm job {} has yet to start", one->id));
    }
    const auto refusal = memory_.refused.find(wanted.key);
    if (refusal != memory_.refused.end() &&
        !(refusal->second.told && now_s_ - refusal->second.at_s >= kAskAgain_s)) {
      return report(wanted, 0, PlaceholderState::kRefused, refusal->second.why);
    }
    if (found.ended != nullptr && !memory_.ended_told.contains(found.ended->id)) {
      return report(wanted, found.ended->id, PlaceholderState::kEnded,
                    fmt::format("Slurm job {} is {}", found.ended->id, found.ended->state));
    }
    if (is_forgotten(wanted)) {
      return report(wanted, wanted.held_by, PlaceholderState::kEnded,
                    fmt::format("Slurm has no job {} any more: it ended while nobody looked",
                                wanted.held_by));
    }
    ask(wanted);
  }

 private:
  // Its record is gone, MinJobAge after its end. Another job may have its number by now.
  bool is_forgotten(const Wanted& wanted) const {
    const JobAttempt whose{wanted.key.job, wanted.key.attempt};
    const auto is_it = [&](const JobSeen& job) {
      return job.id == wanted.held_by && is_marked(job) && identity_of(job, cluster_) == whose;
    };
    return wanted.held_by != 0 && std::none_of(observed_.jobs.begin(), observed_.jobs.end(), is_it);
  }

  // If it waits in Slurm's queue; nullptr: none does.
  const Starting* starting(const PlaceholderKey& key) const {
    const auto at = memory_.starting.find(key);
    if (at == memory_.starting.end()) return nullptr;
    return waits(observed_, at->second.id) ? &at->second : nullptr;
  }

  const std::set<std::int64_t>& awaited(const PlaceholderKey& key) const {
    static const std::set<std::int64_t> none;
    const auto at = memory_.awaited.find(key);
    return at == memory_.awaited.end() ? none : at->second;
  }

  void report(const Wanted& wanted, std::int64_t id, PlaceholderState state, std::string why,
              std::vector<int> devices = {}, std::vector<int> cores = {}) {
    plan_.reports.push_back(
        {wanted.key, id, state, std::move(why), std::move(devices), std::move(cores)});
  }

  void refuse(const Wanted& wanted, std::string why) {
    plan_.newly_refused[wanted.key] = why;
    report(wanted, 0, PlaceholderState::kRefused, std::move(why));
  }

  bool is_in(const DevicesOfNodes& devices, const std::string& node, int device) const {
    const auto here = devices.find(node);
    return here != devices.end() && here->second.contains(device);
  }

  bool has_any(const DevicesOfNodes& all, const std::string& node,
               const std::vector<int>& devices) const {
    return std::any_of(devices.begin(), devices.end(),
                       [&](int device) { return is_in(all, node, device); });
  }

  // Those that its placeholder is to hold itself. What Slurm runs gets its devices from Slurm.
  std::vector<int> to_hold(const Wanted& wanted) const {
    if (wanted.runs) return wanted.devices;
    std::vector<int> rest;
    for (const int device : wanted.devices) {
      if (!is_in(fenced_, wanted.key.node, device)) rest.push_back(device);
    }
    return rest;
  }

  // The oldest stays when it holds what is wanted; there is never a second one.
  void keep(const Wanted& wanted, const Found& found) {
    const JobSeen& job = *found.living[0];
    for (std::size_t i = 1; i < found.living.size(); ++i) {
      plan_.cancel.push_back(found.living[i]->id);
    }
    const NodeAllocation& held = job.allocations[0];
    std::vector<int> devices = wanted.devices;
    std::sort(devices.begin(), devices.end());
    std::vector<int> missing;
    std::set_difference(devices.begin(), devices.end(), held.devices.begin(), held.devices.end(),
                        std::back_inserter(missing));
    const bool has_others = held.devices.size() + missing.size() != devices.size();
    const bool lacks_its_own = wanted.runs && !missing.empty();
    if (!job.devices_known || has_others || lacks_its_own) {
      plan_.cancel.push_back(job.id);
      return refuse(wanted, fmt::format("Slurm gave devices {} in place of {}",
                                        fmt::join(held.devices, ","), fmt::join(devices, ",")));
    }
    if (wanted.until_s == 0) {
      if (job.ends_s != 0) plan_.limits.push_back({job.id, 0});
    } else if (const LimitChange stay = to_stay(job, wanted.until_s, now_s_);
               ends_before(job, stay)) {
      plan_.limits.push_back(stay);
    }
    // The others are those of standing fences. Where one has gone, what this holds is kept: work
    // may run on all of them.
    std::erase_if(missing, [&](int one) { return is_in(fenced_, wanted.key.node, one); });
    if (missing.empty()) {
      return report(wanted, job.id, PlaceholderState::kConfirmed, "", devices, held.cores);
    }
    if (const JobSeen* holder = holder_of(observed_, wanted.key.node, missing, cluster_)) {
      return report(wanted, job.id, PlaceholderState::kRefused,
                    fmt::format("Slurm job {} of {} runs on it", holder->id, holder->user));
    }
    report(wanted, job.id, PlaceholderState::kAsked, kAwaitsFence);
  }

  void ask(const Wanted& wanted) {
    if (const JobSeen* fence = fence_on(observed_, wanted, cluster_)) {
      return report(wanted, 0, PlaceholderState::kAsked,
                    fmt::format("Slurm job {} holds it while another job starts", fence->id));
    }
    // After slurmctld's start no node has answered yet; that is no reason to refuse.
    const NodeSeen* node = observed_.find_node(wanted.key.node);
    if (node != nullptr && (node->settles || !node->registered)) {
      return report(wanted, 0, PlaceholderState::kAsked, "Slurm waits for the node to answer");
    }
    // What was stopped for this one may have left it a moment ago: it is kept, not refused. On a
    // node that is not up it may be ending for long, and nothing can follow it there.
    const bool is_up = node != nullptr && node->state == NodeSeen::State::kUp;
    const JobSeen* ending = awaited_end(observed_, wanted, awaited(wanted.key), cluster_);
    if (is_up && ending != nullptr) {
      return report(wanted, 0, PlaceholderState::kAsked,
                    fmt::format("Slurm job {}, of ours, is still ending there", ending->id));
    }
    Ask ask;
    ask.name = placeholder_name(wanted.key.job, wanted.key.attempt, cluster_);
    ask.memory_bytes = wanted.memory_bytes;
    ask.limit_minutes = limit_minutes(now_s_, wanted.until_s);
    ask.user = wanted.user;
    ask.is_users = wanted.runs;
    const std::vector<int> devices = to_hold(wanted);
    std::string why = obstacle(observed_, wanted, devices, cluster_, ask);
    if (!why.empty()) return refuse(wanted, std::move(why));
    if (wanted.runs && has_any(fenced_, wanted.key.node, devices)) {
      return report(wanted, 0, PlaceholderState::kAsked, kAwaitsItsEnd);
    }
    // Held by the fence once, a device is not in anybody's reach when its job ends.
    if (!wanted.runs && has_any(kept_, wanted.key.node, devices)) {
      return report(wanted, 0, PlaceholderState::kAsked, kAwaitsFence);
    }
    plan_.submit.push_back({wanted.key, std::move(ask)});
    report(wanted, 0, PlaceholderState::kAsked, "");
  }

  const Observed& observed_;
  const DevicesOfNodes& kept_;
  const DevicesOfNodes fenced_;
  const PlanMemory& memory_;
  const std::string& cluster_;
  std::int64_t now_s_;
  Plan& plan_;
};

}  // namespace

std::string_view word(PlaceholderState state) {
  switch (state) {
    case PlaceholderState::kAsked:
      return "asked";
    case PlaceholderState::kConfirmed:
      return "confirmed";
    case PlaceholderState::kRefused:
      return "refused";
    case PlaceholderState::kEnded:
      return "ended";
  }
  return "";
}

std::string placeholder_name(std::int64_t job, std::int64_t attempt, const std::string& cluster) {
  return fmt::format("dove-{}.{}@{}", job, attempt, cluster);
}

std::optional<JobAttempt> read_placeholder_name(std::string_view name, const std::string& cluster) {
  constexpr std::string_view kBegin = "dove-";
  if (!name.starts_with(kBegin)) return std::nullopt;
  JobAttempt numbers;
  const char* const end = name.data() + name.size();
  const auto job = std::from_chars(name.data() + kBegin.size(), end, numbers.first);
  if (job.ec != std::errc() || job.ptr == end || *job.ptr != '.') return std::nullopt;
  const auto attempt = std::from_chars(job.ptr + 1, end, numbers.second);
  if (attempt.ec != std::errc() || attempt.ptr == end || *attempt.ptr != '@') return std::nullopt;
  // What reads as the same numbers may still be written otherwise.
  if (name != placeholder_name(numbers.first, numbers.second, cluster)) return std::nullopt;
  return numbers;
}

bool is_fence(const JobSeen& job, const std::string& cluster) {
  return job.mark.starts_with(placeholder_mark(kFence_name)) && job.mark.ends_with("@" + cluster);
}

bool is_placeholder(const JobSeen& job, const std::string& cluster) {
  return is_marked(job) && identity_of(job, cluster).has_value();
}

DevicesOfPlaceholders devices_of_placeholders(const Observed& observed,
                                              const std::string& cluster) {
  DevicesOfPlaceholders all;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kHolding || !is_placeholder(job, cluster)) continue;
    const auto [id, attempt] = *identity_of(job, cluster);
    for (const NodeAllocation& held : job.allocations) {
      all[{id, attempt, held.node}].insert(held.devices.begin(), held.devices.end());
    }
  }
  return all;
}

std::set<std::int64_t> fences_that_lend_cores(const Observed& observed,
                                              const std::vector<Wanted>& wanted,
                                              const std::string& cluster) {
  std::map<PlaceholderKey, std::size_t> cores;  // that are held
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kHolding || !is_placeholder(job, cluster)) continue;
    const auto [id, attempt] = *identity_of(job, cluster);
    for (const NodeAllocation& held : job.allocations)
      cores[{id, attempt, held.node}] += held.cores.size();
  }
  std::set<std::string> nodes;
  for (const Wanted& one : wanted) {
    const auto held = cores.find(one.key);
    const bool is_ours = !one.runs && one.foreign_job.empty();
    if (is_ours && held != cores.end() && held->second < one.cores.size()) {
      nodes.insert(one.key.node);
    }
  }
  std::set<std::int64_t> fences;
  for (const JobSeen& job : observed.jobs) {
    if (nodes.contains(node_of(job)) && is_standing_fence(job, cluster)) fences.insert(job.id);
  }
  return fences;
}

std::map<std::int64_t, JobAttempt> living_placeholders(const Observed& observed,
                                                       const std::string& cluster) {
  std::map<std::int64_t, JobAttempt> living;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase == JobPhase::kEnded || !is_placeholder(job, cluster)) continue;
    living[job.id] = *identity_of(job, cluster);
  }
  return living;
}

std::set<PlaceholderKey> begun_placeholders(const Observed& observed, const std::string& cluster) {
  std::set<PlaceholderKey> keys;
  for (const JobSeen& job : observed.jobs) {
    const auto identity = identity_of(job, cluster);
    if (!identity ||
        job.mark != begun_mark(placeholder_name(identity->first, identity->second, cluster))) {
      continue;
    }
    keys.insert({identity->first, identity->second, node_of(job)});
  }
  return keys;
}

std::vector<PlaceholderKey> ending_placeholders(const Observed& observed,
                                                const std::string& cluster) {
  std::vector<PlaceholderKey> keys;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kEnding || !is_placeholder(job, cluster)) continue;
    const auto [id, attempt] = *identity_of(job, cluster);
    keys.push_back({id, attempt, node_of(job)});
  }
  return keys;
}

std::vector<LimitChange> longer_stays(const Observed& observed, const std::string& cluster,
                                      std::int64_t now_s) {
  std::vector<LimitChange> changes;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kHolding || !is_placeholder(job, cluster)) continue;
    const LimitChange stay = to_stay(job, now_s, now_s);
    if (ends_before(job, stay)) changes.push_back(stay);
  }
  return changes;
}

void move_back(PlanMemory& memory, std::int64_t back_s) {
  for (auto& [key, refusal] : memory.refused) refusal.at_s -= back_s;
  for (auto& [key, one] : memory.starting) one.asked_s -= back_s;
}

void forget_unwanted(const Observed& observed, const std::vector<Wanted>& wanted,
                     PlanMemory& memory) {
  std::set<PlaceholderKey> keys;
  for (const Wanted& one : wanted) keys.insert(one.key);
  std::erase_if(memory.refused, [&](const auto& one) { return !keys.contains(one.first); });
  std::erase_if(memory.awaited, [&](const auto& one) { return !keys.contains(one.first); });
  std::erase_if(memory.starting, [&](const auto& one) {
    return !keys.contains(one.first) || !waits(observed, one.second.id);
  });
  std::erase_if(memory.ended_told, [&](std::int64_t id) { return !is_known(observed, id); });
}

Plan plan(const Observed& observed, const std::vector<Wanted>& wanted, const DevicesOfNodes& kept,
          const PlanMemory& memory, const std::string& cluster, std::int64_t now_s) {
  Plan plan;
  const FoundByKey found =
      find_all(observed, wanted, starting_jobs(wanted, memory, now_s), cluster, plan.cancel);
  std::set<PlaceholderKey> named;
  Planner planner(observed, kept, memory, cluster, now_s, plan);
  for (const Wanted& one : wanted) {
    if (!one.foreign_job.empty()) continue;       // plan_gate() sees to it
    if (!named.insert(one.key).second) continue;  // named twice
    const auto at = found.find(one.key);
    planner.meet(one, at == found.end() ? Found() : at->second);
  }
  for (const auto& [key, here] : found) {
    if (named.contains(key)) continue;
    for (const JobSeen* job : here.living) plan.cancel.push_back(job->id);
    for (const JobSeen* job : here.unmarked) plan.cancel.push_back(job->id);
  }
  const std::set<std::int64_t> leave = observed.jobs_to_leave();
  std::erase_if(plan.cancel, [&](std::int64_t id) { return leave.contains(id); });
  return plan;
}

}  // namespace dove::slurm
