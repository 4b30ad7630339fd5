#include "slurm/standing_fences.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/standing_fence.h"
#include "slurm/gres.h"
#include "text/hostlist.h"

namespace dove::slurm {
namespace {

constexpr const char kName[] = "dove-keep-";

const Lent::Part* part_of(const Lent& lent, const std::string& node) {
  for (const Lent::Part& part : lent.parts) {
    if (text::any_hostlist_holds(part.nodes, node)) return &part;
  }
  return nullptr;
}

// What is kept and no job has, standing fences included; what is ending is not free yet.
DevicesOfNodes free_of(const DevicesOfNodes& kept, const Observed& observed) {
  DevicesOfNodes free = kept;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase == JobPhase::kEnded) continue;
    for (const HeldOnNode& held : job.held) {
      const auto here = free.find(held.node);
      if (here == free.end()) continue;
      for (const int device : held.devices) here->second.erase(device);
    }
  }
  return free;
}

// Its adapter was ended before it could mark it, or somebody has taken the name.
bool is_unmarked(const JobSeen& job, const std::string& cluster) {
  return job.mark.empty() && job.name.starts_with(kName) && job.name.ends_with("@" + cluster);
}

bool keeps_lent_device(const JobSeen& fence, const DevicesOfNodes& kept) {
  return std::any_of(fence.held.begin(), fence.held.end(), [&](const HeldOnNode& held) {
    const auto here = kept.find(held.node);
    if (here == kept.end()) return true;
    // Only a GRES with files says which devices it holds.
    return fence.devices_known && std::any_of(held.devices.begin(), held.devices.end(),
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

bool is_standing_fence(const JobSeen& job, const std::string& cluster) {
  // Asked of every job, many times a cycle.
  static const std::string begin = placeholder_mark(kName);
  return job.mark.starts_with(begin) && job.mark.ends_with("@" + cluster);
}

DevicesOfNodes fenced_devices(const Observed& observed, const std::string& cluster) {
  DevicesOfNodes fenced;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kHolding || !is_standing_fence(job, cluster)) continue;
    for (const HeldOnNode& held : job.held) {
      fenced[held.node].insert(held.devices.begin(), held.devices.end());
    }
  }
  return fenced;
}

StandingPlan plan_standing_fences(const Observed& observed, const DevicesOfNodes& kept,
                                  const std::string& cluster) {
  StandingPlan plan;
  const std::set<std::int64_t> leave = observed.jobs_to_leave();
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kHolding || leave.contains(job.id)) continue;
    const bool is_over = is_standing_fence(job, cluster) && keeps_lent_device(job, kept);
    if (is_over || is_unmarked(job, cluster)) {
      plan.release.push_back(job.id);
    } else if (is_standing_fence(job, cluster) && job.state == "RUNNING") {
      plan.suspend.push_back(job.id);
    }
  }
  const DevicesOfNodes free = free_of(kept, observed);
  for (const NodeSeen& node : observed.nodes) {
    const auto missing = free.find(node.name);
    const bool gives_none =
        node.state != NodeSeen::State::kUp || !node.registered || !node.reserved.empty();
    if (missing == free.end() || gives_none) continue;
    for (const int device : missing->second) {
      // Types that do not tell the devices apart: placeholders say so (plan.cc).
      const Result<std::string> gres = pinned_gres(node.device_types, {device});
      if (!gres.ok()) break;
      Ask ask;
      ask.name = fmt::format("{}{}.{}@{}", kName, node.name, device, cluster);
      ask.node = node.name;
      ask.partitions = node.partitions;
      ask.gres = *gres;
      ask.cpus = node.cpus_per_core;
      ask.memory_bytes = kFence_memory_bytes;
      plan.ask.push_back(std::move(ask));
    }
  }
  return plan;
}

}  // namespace dove::slurm
