#include "core/state/invariants.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/state/amount.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/foreign_use.h"
#include "core/state/executors/placeholders.h"
#include "core/state/findings.h"
#include "core/state/holders/holders.h"
#include "core/state/slices.h"

namespace dove::core {
namespace {

using Broken = std::optional<std::string>;

// What the placements that have not ended hold, against what the books say.
// Counted anew from the attempts, so that a mistake of the fold shows as a difference.
struct Sums {
  std::map<NodeId, std::vector<const PlacementRecord*>> by_node;
  std::map<NodeId, std::set<JobId>> jobs_by_node;
  std::map<std::string, Usage> users;
  std::map<std::string, Usage> queues;
  std::map<std::string, Usage> projects;
  std::map<std::string, Usage> domains;
  std::map<std::string, std::int64_t> asked;  // jobs that have not ended, by project
  std::map<std::string, std::int64_t> asked_of_domain;
  Usage all;
};

void add(std::map<std::string, std::int64_t>& to, const std::vector<Countable>& from) {
  for (const Countable& one : from) {
    if (one.amount != 0) to[one.name] += one.amount;
  }
}

Broken add_job(const State& state, const Job& job, Sums& sums) {
  std::vector<Usage*> usages = {&sums.users[job.spec->user], &sums.all};
  if (!job.spec->project.empty() && job.phase != JobPhase::kEnded) ++sums.asked[job.spec->project];
  if (!job.spec->project.empty()) usages.push_back(&sums.projects[job.spec->project]);
  const std::string domain = domain_of(state, *job.spec);
  if (!domain.empty() && job.phase != JobPhase::kEnded) ++sums.asked_of_domain[domain];
  if (!domain.empty()) usages.push_back(&sums.domains[domain]);
  // A queue that was deleted under its jobs is still counted by its name.
  const std::vector<const Queue*> path = queue_path(state, job.spec->queue);
  if (path.empty()) usages.push_back(&sums.queues[job.spec->queue]);
  for (const Queue* queue : path) usages.push_back(&sums.queues[queue->name]);
  const bool active = job.phase == JobPhase::kActive;
  if (active && job.attempts.empty())
    return fmt::format("job {} is active without attempt", job.id.value);
  for (Usage* usage : usages) {
    usage->jobs_waiting += job.phase == JobPhase::kWaiting ? 1 : 0;
    usage->jobs_running += active ? 1 : 0;
    if (active) add(usage->countables, job.spec->cluster_requests);
  }
  if (job.phase == JobPhase::kEnded && job.outcome == Outcome::kNone) {
    return fmt::format("job {} ended without an outcome", job.id.value);
  }
  for (const Attempt& attempt : job.attempts) {
    // Only the last attempt of an active job may hold anything: two attempts at once would be the
    // job running twice.
    const bool current = active && &attempt == &job.attempts.back();
    bool unprepared = false;
    bool started = false;
    for (const PlacementRecord& record : attempt.placements) {
      unprepared = unprepared || record.stage == PlacementStage::kOrdered;
      started = started || record.stage == PlacementStage::kStarted;
      if (record.stage == PlacementStage::kEnded) continue;
      if (!current) {
        return fmt::format("job {} holds node {} for attempt {}, which is over", job.id.value,
                           record.placement->node.value, attempt.number);
      }
      sums.by_node[record.placement->node].push_back(&record);
      sums.jobs_by_node[record.placement->node].insert(job.id);
      Amount kinds;
      if (state.counts_models) {
        add_kinds(*state.nodes[record.placement->node].inventory, record.placement, kinds);
      }
      for (Usage* usage : usages) {
        usage->cores += static_cast<std::int64_t>(record.placement->cores.size());
        for (const DeviceGrant& g : record.placement->devices) usage->gpus_milli += g.share_milli;
        usage->memory_bytes += record.placement->memory_bytes;
        // For the cluster these names stand for its licences (count_placement).
        if (usage != &sums.all) add(usage->countables, record.placement->countables);
        if (usage != &sums.all) add(usage->countables, kinds.countables);
        add(usage->gpus_by_model, kinds.gpus_by_model);
      }
    }
    // A gang starts whole: no rank may begin while another node is still to prepare.
    if (attempt.stage == Stage::kStarting && unprepared) {
      return fmt::format("gang of job {} was started half prepared", job.id.value);
    }
  }
  return std::nullopt;
}

// What executors run counts towards queues that their accounts stand for.
void add_foreign(const State& state, Sums& sums) {
  for (const Node& node : state.nodes) {
    for (const NodeExecutor& executor : node.executors) {
      for (const ForeignAllocation& one : executor.foreign) {
        const std::string* queue = queue_of(state, executor.name, one.account);
        if (queue == nullptr) continue;
        for_each_queue(state, *queue, [&](const std::string& name) {
          add_foreign_use(state, node, one, sums.queues[name], +1);
        });
      }
    }
  }
}

// A device is whole, shared or sliced, and no slot of it is given twice.
Broken check_slots(const Node& node, const std::vector<const PlacementRecord*>& held) {
  std::vector<SlotSet> slots(node.device_free_milli.size(), 0);
  std::vector<bool> uncut(node.device_free_milli.size(), false);
  bool any = false;
  for (const PlacementRecord* record : held) {
    for (const DeviceGrant& grant : record->placement->devices) {
      const auto device = static_cast<std::size_t>(grant.device);
      if (device >= slots.size()) continue;
      if (!grant.is_slice()) {
        uncut[device] = true;
        continue;
      }
      any = true;
      if ((slots[device] & slots_of(grant.slice)) != 0) {
        return fmt::format("a slot of device {} of node {} is given twice", device, node.name);
      }
      slots[device] |= slots_of(grant.slice);
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] != 0 && uncut[i]) {
      return fmt::format("device {} of node {} is sliced and not sliced at once", i, node.name);
    }
  }
  const bool booked = any ? node.slots_taken == slots : node.slots_taken.empty();
  return booked ? Broken{} : fmt::format("slots of node {} do not add up", node.name);
}

Broken check_node(const Node& node, const Sums& sums) {
  const std::string name = node.name;
  const auto jobs = sums.jobs_by_node.find(node.id);
  const std::set<JobId> holding =
      jobs == sums.jobs_by_node.end() ? std::set<JobId>{} : jobs->second;
  if (!std::equal(node.jobs.begin(), node.jobs.end(), holding.begin(), holding.end())) {
    return fmt::format("node {} lists other jobs than hold it", name);
  }
  // Free and held in one list: a core that is in it twice was given twice, one that is not in it
  // was lost.
  std::vector<std::int32_t> cores = node.cores_free.ids();
  std::vector<std::int64_t> milli(node.device_free_milli.begin(), node.device_free_milli.end());
  std::int64_t memory = node.memory_free_bytes;
  std::map<std::string, std::int64_t> countables;
  add(countables, node.countables_free);
  const auto held = sums.by_node.find(node.id);
  if (held != sums.by_node.end()) {
    for (const PlacementRecord* record : held->second) {
      const Placement& p = record->placement;
      cores.insert(cores.end(), p.cores.begin(), p.cores.end());
      for (const DeviceGrant& g : p.devices) {
        const auto device = static_cast<std::size_t>(g.device);
        if (device < milli.size()) milli[device] += g.share_milli;
      }
      memory += p.memory_bytes;
      add(countables, p.countables);
    }
  }
  if (!(node.cores_free & foreign_cores(node)).empty()) {
    return fmt::format("a core that an executor holds on node {} counts as free", name);
  }
  static const std::vector<const PlacementRecord*> nothing;
  if (auto broken = check_slots(node, held == sums.by_node.end() ? nothing : held->second)) {
    return broken;
  }
  std::sort(cores.begin(), cores.end());
  if (std::adjacent_find(cores.begin(), cores.end()) != cores.end()) {
    return fmt::format("a core of node {} is given twice", name);
  }
  // Only those that are open have to be there: a core that was reserved while a job held it is in
  // neither once the job has ended.
  for (std::int32_t core : open_cores(node)) {
    if (!std::binary_search(cores.begin(), cores.end(), core)) {
      return fmt::format("core {} of node {} is neither free nor held", core, name);
    }
  }
  for (std::size_t i = 0; i < milli.size(); ++i) {
    // A closed device has nothing free, and gives nothing back until it is open again.
    if (!is_device_open(node, i) && node.device_free_milli[i] == 0 &&
        milli[i] <= kWholeDevice_milli)
      continue;
    if (milli[i] != kWholeDevice_milli || node.device_free_milli[i] < 0) {
      return fmt::format("device {} of node {} is given twice or not at all", i, name);
    }
  }
  if (node.inventory == nullptr) return std::nullopt;
  if (memory !=
      node.inventory->memory_bytes - node.declared.memory_reserved_bytes - foreign_memory(node)) {
    return fmt::format("memory of node {} does not add up", name);
  }
  std::map<std::string, std::int64_t> total;
  add(total, node.inventory->countables);
  add(total, node.declared.countables);
  std::erase_if(countables, [](const auto& c) { return c.second == 0; });
  return countables == total ? Broken{} : fmt::format("countables of node {} do not add up", name);
}

// Who starts waits for all of them, and none outlives its placement but to be taken away.
Broken check_placeholders(const State& state) {
  for (const auto& [key, placeholder] : state.placeholders) {
    if (placeholder.stage == PlaceholderStage::kReleased) continue;
    const Job* job = state.find_job(key.job);
    const bool lives =
        job != nullptr && job->phase == JobPhase::kActive &&
        job->attempts.back().number == key.attempt &&
        std::any_of(job->attempts.back().placements.begin(), job->attempts.back().placements.end(),
                    [&](const PlacementRecord& record) {
                      return record.placement->node == key.node &&
                             record.stage != PlacementStage::kEnded;
                    });
    if (!lives) {
      return fmt::format("a placeholder of job {} on node {} is wanted for nothing", key.job.value,
                         key.node.value);
    }
  }
  for (const Node& node : state.nodes) {
    for (const NodeExecutor& executor : node.executors) {
      for (const JobId id : node.jobs) {
        if (!holds_for(executor, *state.find_job(id)->spec)) continue;
        const PlaceholderKey key{id, state.find_job(id)->attempts.back().number, node.id,
                                 executor.name};
        if (state.placeholders.contains(key)) continue;
        return fmt::format("job {} has no placeholder of {} on node {}", id.value, executor.name,
                           node.name);
      }
    }
  }
  return std::nullopt;
}

bool same(const Usage& a, const Usage& b) {
  return a.jobs_running == b.jobs_running && a.jobs_waiting == b.jobs_waiting &&
         a.cores == b.cores && a.gpus_milli == b.gpus_milli && a.memory_bytes == b.memory_bytes &&
         a.countables == b.countables && a.gpus_by_model == b.gpus_by_model;
}

Broken check_usage(const char* what, const std::map<std::string, Usage>& booked,
                   const std::map<std::string, Usage>& summed) {
  static const Usage nothing;
  for (const auto& [name, usage] : booked) {
    const auto at = summed.find(name);
    if (!same(usage, at == summed.end() ? nothing : at->second)) {
      return fmt::format("usage of {} {} does not add up", what, name);
    }
  }
  // The other way round, too: who holds something and has no entry is not limited.
  for (const auto& [name, usage] : summed) {
    if (!booked.contains(name) && !same(usage, nothing))
      return fmt::format("usage of {} {} is not booked", what, name);
  }
  return std::nullopt;
}

Broken check_asked(const char* what, const std::map<std::string, Usage>& booked,
                   const std::map<std::string, std::int64_t>& summed) {
  for (const auto& [name, asked] : booked) {
    const auto at = summed.find(name);
    if (asked.jobs_waiting != (at == summed.end() ? 0 : at->second)) {
      return fmt::format("what {} {} asks for does not add up", what, name);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_broken_invariant(const State& state) {
  Sums sums;
  for (const auto& [id, job] : state.jobs) {
    if (auto broken = add_job(state, job, sums)) return broken;
  }
  for (const Node& node : state.nodes) {
    if (auto broken = check_node(node, sums)) return broken;
    if (state.find_node(node.name) != &node) {
      return fmt::format("node {} is not found by its name, '{}'", node.id.value, node.name);
    }
  }
  add_foreign(state, sums);
  if (auto broken = check_placeholders(state)) return broken;
  for (const auto& [id, hang] : state.hangs) {
    const Job* job = state.find_job(id);
    if (job != nullptr && job->phase == JobPhase::kActive &&
        job->attempts.back().number == hang.attempt) {
      continue;
    }
    return fmt::format("job {} hangs and is not active", id.value);
  }
  for (const auto& [id, idle] : state.idle) {
    const Job* job = state.find_job(id);
    if (job == nullptr || job->attempts.empty() || job->attempts.back().number != idle.attempt ||
        (job->phase != JobPhase::kActive &&
         job->attempts.back().stop_reason != StopReason::kIdle)) {
      return fmt::format("job {} is idle, not active, and did not end for it", id.value);
    }
  }
  if (auto broken = check_usage("user", state.usage_by_user, sums.users)) return broken;
  if (auto broken = check_usage("queue", state.usage_by_queue, sums.queues)) return broken;
  if (auto broken = check_usage("project", state.usage_by_project, sums.projects)) return broken;
  if (auto broken = check_usage("domain", state.usage_by_domain, sums.domains)) return broken;
  if (auto broken = check_asked("project", state.asked_by_project, sums.asked)) return broken;
  if (auto broken = check_asked("domain", state.asked_by_domain, sums.asked_of_domain)) {
    return broken;
  }
  for (const auto& [id, promise] : state.promises) {
    const Job* job = state.find_job(id);
    if (job == nullptr || job->phase != JobPhase::kWaiting) {
      return fmt::format("job {} has a promise and does not wait", id.value);
    }
  }
  if (!same(state.usage, sums.all)) return "usage of the cluster does not add up";
  return std::nullopt;
}

}  // namespace dove::core
