#include "slurm/fences/standing_fences.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/standing_fence.h"
#include "slurm/gres.h"
#include "text/hostlist.h"

namespace dove::slurm {
namespace {

constexpr const char kName[] = "dove-keep-";
constexpr std::int64_t kWaiting_limit_minutes = 10;

const Lent::Part* part_of(const Lent& lent, const std::string& node) {
  for (const Lent::Part& part : lent.parts) {
    if (text::any_hostlist_holds(part.nodes, node)) return &part;
  }
  return nullptr;
}

struct Missing {
  // What is kept and no job has, standing fences included; what is ending is not free yet.
  DevicesOfNodes free;
  DevicesOfNodes soon;  // kept, and had by jobs that leave
};

Missing missing_of(const DevicesOfNodes& kept, const Observed& observed,
                   const std::set<std::int64_t>& leaving) {
  Missing missing{kept, {}};
  for (const JobSeen& job : observed.jobs) {
    if (job.phase == JobPhase::kEnded) continue;
    for (const NodeAllocation& held : job.allocations) {
      const auto here = missing.free.find(held.node);
      if (here == missing.free.end()) continue;
      for (const int device : held.devices) {
        const bool was_free = here->second.erase(device) > 0;
        auto& soon = missing.soon[held.node];
        // Two may have it while one is ending, and the other stays: a fence, for example.
        if (was_free && leaving.contains(job.id)) {
          soon.insert(device);
        } else if (!leaving.contains(job.id)) {
          soon.erase(device);
        }
      }
    }
  }
  return missing;
}

// Its adapter was ended before it could mark it, or somebody has taken the name.
bool is_unmarked(const JobSeen& job, const std::string& cluster) {
  return job.mark.empty() && job.name.starts_with(kName) && job.name.ends_with("@" + cluster);
}

Ask fence_on(const NodeSeen& node, int device, std::string gres, const std::string& cluster) {
  Ask ask;
  ask.name = standing_fence_name(node.name, device, cluster);
  ask.node = node.name;
  ask.partitions = node.partitions;
  ask.gres = std::move(gres);
  ask.cpus = node.cpus_per_core;
  ask.memory_bytes = kFence_memory_bytes;
  return ask;
}

// Those that wait for what is kept still, by name.
std::set<std::string> awaited_names(const DevicesOfNodes& soon, const DevicesOfNodes& free,
                                    const std::string& cluster) {
  std::set<std::string> names;
  for (const DevicesOfNodes* all : {&soon, &free}) {
    for (const auto& [node, devices] : *all) {
      for (const int device : devices) names.insert(standing_fence_name(node, device, cluster));
    }
  }
  return names;
}

bool keeps_lent_device(const JobSeen& fence, const DevicesOfNodes& kept) {
  return std::any_of(fence.allocations.begin(), fence.allocations.end(),
                     [&](const NodeAllocation& held) {
                       const auto here = kept.find(held.node);
                       if (here == kept.end()) return true;
                       // Only a GRES with files says which devices it holds.
                       return fence.devices_known &&
                              std::any_of(held.devices.begin(), held.devices.end(),
                                          [&](int one) { return !here->second.contains(one); });
                     });
}

}  // namespace

DevicesOfNodes kept_devices(const Lent& lent, const std::vector<NodeSeen>& nodes) {
  DevicesOfNodes kept;
  if (lent.parts.empty()) return kept;
  for (const NodeSeen& node : nodes) {
    if (!text::any_hostlist_holds(lent.nodes, node.name)) continue;
    std::set<int> here;
    for (int i = 0; i < static_cast<int>(node.device_types.size()); ++i) here.insert(i);
    if (const Lent::Part* part = part_of(lent, node.name)) {
      for (const int device : part->devices) here.erase(device);
    }
    if (!here.empty()) kept.emplace(node.name, std::move(here));
  }
  return kept;
}

std::string standing_fence_name(const std::string& node, int device, const std::string& cluster) {
  return fmt::format("{}{}.{}@{}", kName, node, device, cluster);
}

bool is_standing_fence(const JobSeen& job, const std::string& cluster) {
  // Asked of every job, many times a cycle.
  static const std::string begin = placeholder_mark(kName);
  return job.mark.starts_with(begin) && job.mark.ends_with("@" + cluster);
}

DevicesOfNodes fenced_devices(const Observed& observed, const std::string& cluster) {
  DevicesOfNodes fenced;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kHolding || !is_standing_fence(job, cluster)) continue;
    for (const NodeAllocation& held : job.allocations) {
      fenced[held.node].insert(held.devices.begin(), held.devices.end());
    }
  }
  return fenced;
}

StandingPlan plan_standing_fences(const Observed& observed, const DevicesOfNodes& kept,
                                  const std::string& cluster,
                                  const std::set<std::int64_t>& leaving) {
  StandingPlan plan;
  const std::set<std::int64_t> leave = observed.jobs_to_leave();
  const Missing missing = missing_of(kept, observed, leaving);
  const std::set<std::string> awaited = awaited_names(missing.soon, missing.free, cluster);
  std::set<std::string> waiting;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase == JobPhase::kWaiting) {
      const bool is_fence = is_standing_fence(job, cluster);
      if (is_fence && awaited.contains(job.name) && waiting.insert(job.name).second) continue;
      if (is_fence || is_unmarked(job, cluster)) plan.release.push_back(job.id);
      continue;
    }
    if (job.phase != JobPhase::kHolding || leave.contains(job.id)) continue;
    const bool is_over = is_standing_fence(job, cluster) && keeps_lent_device(job, kept);
    if (is_over || is_unmarked(job, cluster)) {
      plan.release.push_back(job.id);
    } else if (is_standing_fence(job, cluster) && job.state == "RUNNING") {
      plan.suspend.push_back(job.id);
    }
  }
  for (const NodeSeen& node : observed.nodes) {
    const bool gives_none =
        node.state != NodeSeen::State::kUp || !node.registered || !node.reserved.empty();
    if (gives_none) continue;
    for (const DevicesOfNodes* all : {&missing.free, &missing.soon}) {
      const auto here = all->find(node.name);
      if (here == all->end()) continue;
      for (const int device : here->second) {
        // Types that do not tell the devices apart: placeholders say so (plan.cc).
        const Result<std::string> gres = pinned_gres(node.device_types, {device});
        if (!gres.ok()) break;
        Ask ask = fence_on(node, device, *gres, cluster);
        if (waiting.contains(ask.name)) continue;
        ask.waits = all == &missing.soon;
        if (ask.waits) ask.limit_minutes = kWaiting_limit_minutes;
        plan.ask.push_back(std::move(ask));
      }
    }
  }
  return plan;
}

std::set<std::string> waiting_fence_names(const Observed& observed, const std::string& cluster) {
  std::set<std::string> names;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase == JobPhase::kWaiting && is_standing_fence(job, cluster)) names.insert(job.name);
  }
  return names;
}

std::vector<std::int64_t> waiting_fences(const Observed& observed, const std::string& cluster) {
  std::vector<std::int64_t> ids;
  for (const JobSeen& job : observed.jobs) {
    const bool is_fence = is_standing_fence(job, cluster) || is_unmarked(job, cluster);
    if (job.phase == JobPhase::kWaiting && is_fence) ids.push_back(job.id);
  }
  return ids;
}

}  // namespace dove::slurm
