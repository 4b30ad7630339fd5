#include "core/state/cores.h"

#include <algorithm>

#include "base/check.h"

namespace dove::core {
namespace {

std::int32_t count_on(const NumaNode& numa, const CoreSet& free) {
  return static_cast<std::int32_t>(numa.cores.size_with(free));
}

CoreSet first_of(const NumaNode& numa, const CoreSet& free, std::int32_t count) {
  return (numa.cores & free).first(static_cast<std::size_t>(count));
}

// The demand that gets the next core: one that has none yet, else the one with the fewest for its
// devices; null when none has a free core left.
NumaDemand* next_demand(NumaDemands& demands, const CoreCounts& left) {
  NumaDemand* next = nullptr;
  for (NumaDemand& each : demands) {
    if (left[static_cast<std::size_t>(each.numa_node)] == 0) continue;
    const bool first = each.cores == 0;
    // Whoever has none yet comes first: from none to one core matters more than from one to two.
    if (next == nullptr || (first && next->cores > 0)) {
      next = &each;
      // Quotients are compared by cross-multiplying: whole numbers, and exact.
    } else if (first == (next->cores == 0) && std::int64_t{each.cores + 1} * next->devices <
                                                  std::int64_t{next->cores + 1} * each.devices) {
      next = &each;
    }
  }
  return next;
}

// What each demand gets in any case of `count` cores, when all get some of these and have the room:
// its part by devices, rounded down, at least (a property of D'Hondt's method, which next_demand
// is). Leaves the rest to be dealt out one by one.
std::int32_t deal_sure_parts(NumaDemands& demands, std::int32_t count, CoreCounts& left,
                             CoreCounts& taken_on) {
  std::int64_t devices = 0;
  for (const NumaDemand& each : demands) devices += each.devices;
  // All or nothing: with one demand short of room the dealing one by one decides, and is exact.
  const auto part = [&](const NumaDemand& each) {
    return std::int64_t{count} * each.devices / devices;
  };
  const bool is_sure = std::all_of(demands.begin(), demands.end(), [&](const NumaDemand& each) {
    return each.cores == 0 && part(each) > 0 &&
           part(each) <= left[static_cast<std::size_t>(each.numa_node)];
  });
  if (!is_sure) return count;
  std::int32_t missing = count;
  // What is left is less than the number of demands: at most a few rounds instead of one for each
  // core.
  for (NumaDemand& each : demands) {
    const auto cores = static_cast<std::int32_t>(part(each));
    each.cores = cores;
    left[static_cast<std::size_t>(each.numa_node)] -= cores;
    taken_on[static_cast<std::size_t>(each.numa_node)] += cores;
    missing -= cores;
  }
  return missing;
}

// The NUMA node for `wanted` cores that may be anywhere.
std::size_t next_anywhere(const CoreCounts& left, std::int32_t wanted) {
  std::size_t best = left.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == 0) continue;
    if (best == left.size()) {
      best = i;
      continue;
    }
    const bool holds = left[i] >= wanted;
    const bool best_holds = left[best] >= wanted;
    // The tightest that holds all; if none does, the roomiest, so that as few NUMA nodes as
    // possible are used.
    if (holds != best_holds ? holds : holds ? left[i] < left[best] : left[i] > left[best]) best = i;
  }
  return best;
}

}  // namespace

NumaDemands numa_demands(const Inventory& inventory, std::span<const DeviceGrant> devices) {
  NumaDemands demands;
  for (const DeviceGrant& grant : devices) {
    // A device that the inventory no longer has demands nothing.
    if (grant.device >= static_cast<std::int32_t>(inventory.devices.size())) continue;
    const std::int32_t numa = inventory.devices[static_cast<std::size_t>(grant.device)].numa_node;
    // Unknown locality: any core is as good.
    if (numa < 0 || numa >= static_cast<std::int32_t>(inventory.numa.size())) continue;
    auto at = std::lower_bound(
        demands.begin(), demands.end(), numa,
        [](const NumaDemand& demand, std::int32_t node) { return demand.numa_node < node; });
    if (at == demands.end() || at->numa_node != numa) at = demands.insert(at, {numa, 0, 0});
    ++at->devices;
  }
  return demands;
}

NumaDemands even_demands(const Inventory& inventory, const CoreSet& free) {
  NumaDemands demands;
  const CoreCounts counts = count_cores(inventory, free);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    demands.push_back({static_cast<std::int32_t>(i), 1, 0});
  }
  std::stable_sort(demands.begin(), demands.end(), [&](const NumaDemand& a, const NumaDemand& b) {
    return counts[static_cast<std::size_t>(a.numa_node)] >
           counts[static_cast<std::size_t>(b.numa_node)];
  });
  return demands;
}

CoreCounts count_cores(const Inventory& inventory, const CoreSet& free) {
  CoreCounts counts;
  counts.reserve(inventory.numa.size());
  for (const NumaNode& numa : inventory.numa) counts.push_back(count_on(numa, free));
  return counts;
}

CoreSet choose_cores(const Inventory& inventory, const CoreSet& free, std::int32_t count,
                     NumaDemands& demands) {
  if (count <= 0) return {};
  // One NUMA node, or one that has all the cores: no dealing. That is nearly every call of a large
  // cluster.
  if (inventory.numa.size() == 1) {
    CHECK(static_cast<std::size_t>(count) <= free.size(), "capacity promised these cores");
    if (!demands.empty()) demands.front().cores += count;
    return free.first(static_cast<std::size_t>(count));
  }
  // All devices on one NUMA node with enough cores.
  if (demands.size() == 1) {
    const NumaNode& numa = inventory.numa[static_cast<std::size_t>(demands.front().numa_node)];
    if (count_on(numa, free) >= count) {
      demands.front().cores += count;
      return first_of(numa, free, count);
    }
  }
  CoreCounts left = count_cores(inventory, free);
  // No devices: all cores from one NUMA node, if there is one with room.
  if (demands.empty()) {
    const std::size_t numa = next_anywhere(left, count);
    if (numa < left.size() && left[numa] >= count) {
      return first_of(inventory.numa[numa], free, count);
    }
  }
  CoreCounts taken_on(left.size(), 0);
  std::int32_t missing = deal_sure_parts(demands, count, left, taken_on);
  while (missing > 0) {
    NumaDemand* demand = next_demand(demands, left);
    if (demand == nullptr) break;
    const auto numa = static_cast<std::size_t>(demand->numa_node);
    ++demand->cores;
    ++taken_on[numa];
    --left[numa];
    --missing;
  }
  // What cannot be beside devices is anywhere. capacity() promised the sum, not the places.
  while (missing > 0) {
    const std::size_t numa = next_anywhere(left, missing);
    CHECK(numa < left.size(), "capacity promised these cores");
    const std::int32_t some = std::min(left[numa], missing);
    taken_on[numa] += some;
    left[numa] -= some;
    missing -= some;
  }
  CoreSet taken;
  // The lowest ids of each: the same choice on every run, and contiguous ranges for the kernel.
  for (std::size_t i = 0; i < taken_on.size(); ++i) {
    if (taken_on[i] > 0) taken |= first_of(inventory.numa[i], free, taken_on[i]);
  }
  return taken;
}

std::int32_t numa_nodes_without_core(const Inventory& inventory, const Placement& placement) {
  // A job without cores asks for none beside its devices.
  if (placement.cores.empty()) return 0;
  std::int32_t without = 0;
  for (const NumaDemand& demand : numa_demands(inventory, placement.devices)) {
    const NumaNode& numa = inventory.numa[static_cast<std::size_t>(demand.numa_node)];
    if (numa.cores.size_with(placement.cores) == 0) ++without;
  }
  return without;
}

}  // namespace dove::core
