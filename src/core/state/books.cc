#include "core/state/books.h"

#include <algorithm>

#include "core/state/amount.h"
#include "core/state/cores.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"
#include "core/state/holders/holders.h"
#include "core/state/holders/month_use.h"
#include "core/state/past/past_use.h"
#include "core/state/slices.h"

namespace dove::core {
namespace {

void add_countables(std::vector<Countable>& to, const std::vector<Countable>& from, int sign) {
  for (const Countable& one : from) {
    // Sorted by name: readers find by halving, and two nodes with equal books compare as equal.
    auto at = std::lower_bound(to.begin(), to.end(), one.name,
                               [](const Countable& c, const std::string& n) { return c.name < n; });
    if (at == to.end() || at->name != one.name) at = to.insert(at, Countable{one.name, 0});
    at->amount += sign * one.amount;
  }
}

void add_countables(std::map<std::string, std::int64_t>& to, const std::vector<Countable>& from,
                    int sign) {
  for (const Countable& one : from) {
    auto [at, added] = to.try_emplace(one.name, 0);
    at->second += sign * one.amount;
    // Zeros are erased, so that usage that came and went leaves no trace: a fold from a snapshot
    // and one from the start are equal.
    if (at->second == 0) to.erase(at);
  }
}

void allocate_slots(Node& node, const Placement& placement) {
  for (const DeviceGrant& grant : placement.devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    // A grant may name a device that a later inventory does not have. Nothing is kept of it.
    if (!grant.is_slice() || device >= node.device_free_milli.size()) continue;
    node.slots_taken.resize(node.device_free_milli.size());
    node.slots_taken[device] |= slots_of(grant.slice);
  }
}

void release_slots(Node& node, const Placement& placement) {
  if (node.slots_taken.empty()) return;
  for (const DeviceGrant& grant : placement.devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    if (!grant.is_slice() || device >= node.slots_taken.size()) continue;
    node.slots_taken[device] &= ~slots_of(grant.slice);
  }
  const bool none = std::all_of(node.slots_taken.begin(), node.slots_taken.end(),
                                [](SlotSet taken) { return taken == 0; });
  // Most nodes have no slices, and an empty list says so to every search.
  if (none) node.slots_taken.clear();
}

template <class Change>
void change_usage(State& state, Job& job, Change change) {
  const Account& account = state.accounts.of(state, job);
  change(*account.user);
  // A job without a project counts towards none.
  if (account.project != nullptr) change(*account.project);
  if (const std::string domain = domain_of(state, *job.spec); !domain.empty()) {
    change(state.usage_by_domain[domain]);
  }
  for (const Account::OfQueue& queue : account.queues) change(*queue.usage);
  change(state.usage);
}

void charge_month_of(std::map<std::string, MonthUse>& months, const std::string& name,
                     const Limits& limits, const Usage& usage, Instant now) {
  // Only where something by month is declared: the rest of the cluster pays nothing for it.
  if (has_month(limits)) charge_month(month_from_now(months, name, now), usage, now);
}

// And as used in this month, where that is limited.
void charge_months_of(State& state, const JobSpec& spec, const Account& account) {
  const Instant now = state.now;
  if (const Limits* limits = limits_of_user(state, spec.user)) {
    charge_month_of(state.month_by_user, spec.user, *limits, *account.user, now);
  }
  // With no project declared, none can limit.
  if (account.project != nullptr && !state.projects.empty()) {
    const auto project = state.projects.find(spec.project);
    if (project != state.projects.end()) {
      charge_month_of(state.month_by_project, spec.project, project->second.limits,
                      *account.project, now);
    }
  }
  if (!state.domains.empty()) {
    const auto domain = state.domains.find(domain_of(state, spec));
    if (domain != state.domains.end() && has_month(domain->second.limits)) {
      charge_month_of(state.month_by_domain, domain->first, domain->second.limits,
                      state.usage_by_domain[domain->first], now);
    }
  }
  for (const Account::OfQueue& queue : account.queues) {
    if (queue.declared == nullptr) continue;
    charge_month_of(state.month_by_queue, queue.name, queue.declared->limits, *queue.usage, now);
  }
}

// What was held up to now counts as past use.
void charge_holders(State& state, Job& job) {
  const Span half_life = state.settings.fair_share_half_life;
  // Use is charged before it changes, at the level that it had up to now.
  Account& account = state.accounts.of(state, job);
  if (account.user_past == nullptr) account.user_past = &state.past_by_user[job.spec->user];
  charge(*account.user_past, *account.user, half_life, state.now);
  for (Account::OfQueue& queue : account.queues) {
    if (queue.past == nullptr) queue.past = &state.past_by_queue[queue.name];
    charge(*queue.past, *queue.usage, half_life, state.now);
  }
  charge_months_of(state, *job.spec, account);
}

void add_asked(Usage& asked, const JobSpec& spec, const Amount& least, int sign) {
  asked.jobs_waiting += sign;
  asked.cores += sign * least.cores;
  asked.gpus_milli += sign * least.gpus_milli;
  asked.memory_bytes += sign * least.memory_bytes;
  // What is asked by waiting jobs, at least: places are not known yet.
  add_countables(asked.countables, least.countables, sign);
  add_countables(asked.countables, spec.cluster_requests, sign);
  add_countables(asked.gpus_by_model, least.gpus_by_model, sign);
}

}  // namespace

std::int64_t amount_of(const std::vector<Countable>& countables, std::string_view name) {
  // Sorted, see above.
  const auto at =
      std::lower_bound(countables.begin(), countables.end(), name,
                       [](const Countable& c, std::string_view n) { return c.name < n; });
  return at == countables.end() || at->name != name ? 0 : at->amount;
}

bool is_device_open(const Node& node, std::size_t device) {
  return !is_device_closed(node, device) && !is_device_foreign(node, device);
}

CoreSet open_cores(const Node& node) {
  // Nearly no node has a second executor.
  CoreSet cores = usable_cores(node);
  if (!node.executors.empty()) cores -= foreign_cores(node);
  return cores;
}

CoreSet usable_cores(const Node& node) {
  CoreSet cores;
  if (node.inventory == nullptr) return cores;
  for (const NumaNode& numa : node.inventory->numa) cores |= numa.cores;
  // The first cores are the system's: interrupts and daemons run there by default.
  if (node.declared.cores_reserved > 0) {
    const CoreSet reserved = cores.first(static_cast<std::size_t>(node.declared.cores_reserved));
    cores -= gives_whole_cores(node) ? with_siblings(*node.inventory, reserved) : reserved;
  }
  return cores;
}

void allocate(Node& node, const Placement& placement) {
  // What is held is never free at the same time; taking a core twice would go unnoticed here, so
  // `invariants` counts after every step in tests.
  node.cores_free -= placement.cores;
  for (const DeviceGrant& grant : placement.devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    // A closed or foreign device has nothing free, and must not go below it. Its grants end without
    // giving back, in the same way.
    if (device < node.device_free_milli.size() && is_device_open(node, device)) {
      node.device_free_milli[device] -= grant.share_milli;
    }
  }
  allocate_slots(node, placement);
  node.memory_free_bytes -= placement.memory_bytes;
  add_countables(node.countables_free, placement.countables, -1);
}

void release(Node& node, const Placement& placement) {
  // Inventory or reservation may have changed while the cores were held.
  node.cores_free |= placement.cores & open_cores(node);
  for (const DeviceGrant& grant : placement.devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    if (device < node.device_free_milli.size() && is_device_open(node, device)) {
      node.device_free_milli[device] += grant.share_milli;
    }
  }
  release_slots(node, placement);
  node.memory_free_bytes += placement.memory_bytes;
  add_countables(node.countables_free, placement.countables, +1);
}

void rebuild_books(const State& state, Node& node) {
  // From scratch: what is there, less what is closed, reserved or held. Whatever changed
  // (inventory, findings, executors), nothing of the former books can survive.
  node.cores_free = open_cores(node);
  node.device_free_milli.assign(node.inventory->devices.size(), kWholeDevice_milli);
  for (std::size_t i = 0; i < node.device_free_milli.size(); ++i) {
    // A closed device counts as full: no search has to know about findings.
    if (!is_device_open(node, i)) node.device_free_milli[i] = 0;
  }
  node.slots_taken.clear();
  node.memory_free_bytes =
      node.inventory->memory_bytes - node.declared.memory_reserved_bytes - foreign_memory(node);
  node.countables_free.clear();
  add_countables(node.countables_free, node.inventory->countables, +1);
  add_countables(node.countables_free, node.declared.countables, +1);
  // Those that are there still hold what they hold.
  for (JobId id : node.jobs) {
    const Job* job = state.find_job(id);
    if (job == nullptr || job->attempts.empty()) continue;
    for (const PlacementRecord& record : job->attempts.back().placements) {
      if (record.placement->node == node.id && record.stage != PlacementStage::kEnded) {
        allocate(node, record.placement);
      }
    }
  }
}

const Pool* pool_of(const State& state, const JobSpec& spec) {
  if (!spec.pool.empty()) {
    const auto at = state.pools.find(spec.pool);
    return at == state.pools.end() ? nullptr : &at->second;
  }
  for (const auto& [name, pool] : state.pools) {
    if (pool.is_default) return &pool;
  }
  // Nobody declared a default: then it is the pool of that name.
  const auto at = state.pools.find("default");
  return at == state.pools.end() ? nullptr : &at->second;
}

Span time_limit_of(const State& state, const JobSpec& spec) {
  if (spec.time_limit.us > 0) return spec.time_limit;
  const Pool* pool = pool_of(state, spec);
  if (pool == nullptr) return Span{};
  // A pool without a default still has a longest time, which then holds for whoever does not say.
  return pool->time_limit_default.us > 0 ? pool->time_limit_default : pool->time_limit_max;
}

void count_waiting(State& state, Job& job, int sign) {
  change_usage(state, job, [&](Usage& usage) { usage.jobs_waiting += sign; });
}

void count_running(State& state, Job& job, int sign) {
  change_usage(state, job, [&](Usage& usage) {
    usage.jobs_running += sign;
    // Licences are held by the job as a whole, from launch to end.
    add_countables(usage.countables, job.spec->cluster_requests, sign);
  });
}

void count_placement(State& state, Job& job, const Placement& placement, int sign) {
  // Use up to now is charged first.
  charge_holders(state, job);
  std::int64_t gpus_milli = 0;
  for (const DeviceGrant& grant : placement.devices) gpus_milli += grant.share_milli;
  Amount kinds;
  // By model only where somebody limits by it: to find the models costs more than all the rest.
  if (state.counts_models) {
    add_kinds(*state.nodes[placement.node].inventory, placement, kinds);
  }
  change_usage(state, job, [&](Usage& usage) {
    usage.cores += sign * static_cast<std::int64_t>(placement.cores.size());
    usage.gpus_milli += sign * gpus_milli;
    usage.memory_bytes += sign * placement.memory_bytes;
    // Countables of nodes are not counted for the cluster, where the name stands for its own
    // licences.
    if (&usage != &state.usage) add_countables(usage.countables, placement.countables, sign);
    if (&usage != &state.usage) add_countables(usage.countables, kinds.countables, sign);
    add_countables(usage.gpus_by_model, kinds.gpus_by_model, sign);
  });
}

std::vector<JobId> jobs_on_nodes(const State& state) {
  std::vector<JobId> found;
  // A gang is on several nodes, and is listed once.
  for (const Node& node : state.nodes)
    found.insert(found.end(), node.jobs.begin(), node.jobs.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void count_asked(State& state, Job& job, int sign) {
  const std::string domain = domain_of(state, *job.spec);
  // Nothing is limited by what these ask for.
  if (job.spec->project.empty() && domain.empty()) return;
  const Amount least = least_amount(*job.spec);
  if (!job.spec->project.empty()) {
    add_asked(state.asked_by_project[job.spec->project], *job.spec, least, sign);
  }
  if (!domain.empty()) add_asked(state.asked_by_domain[domain], *job.spec, least, sign);
}

std::vector<const Queue*> queue_path(const State& state, const std::string& name) {
  std::vector<const Queue*> path;
  for_each_queue(state, name, [&](const std::string& each) {
    const auto at = state.queues.find(each);
    if (at != state.queues.end()) path.push_back(&at->second);
  });
  return path;
}

}  // namespace dove::core
