#include "slurm/gate/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace dove::slurm {
namespace {

std::vector<int> sorted(std::vector<int> list) {
  std::sort(list.begin(), list.end());
  return list;
}

// "" : it has no more cores and memory there than the ledger gave it. Slurm gives whole cores, and
// for each task of its own, where a CPU is one of a core's threads. A node as a whole has no memory
// for others, and the two may count it differently.
std::string excess(const NodeAllocation& held, const Wanted& wanted, const NodeSeen* node,
                   bool is_exclusive) {
  const std::int64_t times = node == nullptr ? 1 : std::max(node->cpus_per_core, 1);
  if (held.cores.size() > wanted.cores.size() * static_cast<std::size_t>(times)) {
    return fmt::format("Slurm gave {} cores of {} in place of {}", held.cores.size(), held.node,
                       wanted.cores.size());
  }
  if (!is_exclusive && held.memory_bytes / times > wanted.memory_bytes) {
    return fmt::format("Slurm gave {} MiB of {} in place of {}", held.memory_bytes >> 20, held.node,
                       wanted.memory_bytes >> 20);
  }
  return "";
}

// Whether Slurm gave it there the devices that the ledger did. A job that has the node to itself
// gets those from Slurm that it asked for, and from the ledger all.
bool has_its_devices(const JobSeen& job, const NodeAllocation& held, const Wanted& wanted) {
  if (!job.devices_known) return false;
  const std::vector<int> given = sorted(held.devices);
  const std::vector<int> meant = sorted(wanted.devices);
  if (!job.gate->is_exclusive) return given == meant;
  return std::includes(meant.begin(), meant.end(), given.begin(), given.end());
}

}  // namespace

const NodeAllocation* allocation_on(const JobSeen& job, const std::string& node) {
  for (const NodeAllocation& held : job.allocations) {
    if (held.node == node) return &held;
  }
  return nullptr;
}

std::string difference(const JobSeen& job, const std::vector<const Wanted*>& keys,
                       const Observed& observed) {
  if (job.allocations.size() != keys.size()) {
    return fmt::format("Slurm started it on {} nodes in place of {}", job.allocations.size(),
                       keys.size());
  }
  for (const Wanted* one : keys) {
    const NodeAllocation* held = allocation_on(job, one->key.node);
    if (held == nullptr) return fmt::format("Slurm started it elsewhere than on {}", one->key.node);
    const bool same_devices = has_its_devices(job, *held, *one);
    std::string more = excess(*held, *one, observed.find_node(held->node), job.gate->is_exclusive);
    if (same_devices && !more.empty()) return more;
    if (same_devices) continue;
    return fmt::format("Slurm gave devices {} of {} in place of {}", fmt::join(held->devices, ","),
                       one->key.node, fmt::join(one->devices, ","));
  }
  return "";
}

}  // namespace dove::slurm
