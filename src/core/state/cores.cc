#include "core/state/cores.h"

#include <algorithm>

#include "base/check.h"

namespace dove::core {
namespace {

std::int32_t count_on(const NumaNode& numa, const CoreSet& free) {
  return static_cast<std::int32_t>(numa.cores.size_with(free));
}

// Cores of which only some threads are free first, in their order: what else is placed there has
// whole cores, so that the others of them are in the same placement. (What ran before the node was
// shared may have halves; its placeholder holds the core, and another is asked for.)
CoreSet first_together(const Inventory& inventory, const CoreSet& free, std::size_t count) {
  const std::vector<std::int32_t>& order = inventory.thread_order;
  const auto each = static_cast<std::size_t>(inventory.threads_per_core);
  CoreSet taken;
  for (const bool whole : {false, true}) {
    for (std::size_t core = 0; core + each <= order.size() && taken.size() < count; core += each) {
      const CoreSet threads =
          free & CoreSet(std::vector(order.begin() + static_cast<std::ptrdiff_t>(core),
                                     order.begin() + static_cast<std::ptrdiff_t>(core + each)));
      if ((threads.size() == each) != whole) continue;
      taken |= threads.first(std::min(threads.size(), count - taken.size()));
    }
  }
  // CPUs that the order does not name.
  if (taken.size() < count) {
    CoreSet rest = free;
    rest -= taken;
    taken |= rest.first(count - taken.size());
  }
  return taken;
}

// `count` of the free cores on NUMA nodes: the lowest ids, so that every run chooses the same and
// the kernel gets contiguous ranges.
class Pick {
 public:
  Pick(const Inventory& inventory, const CoreSet& free, Threads threads)
      : inventory_(inventory), free_(free), threads_(threads) {}

  CoreSet anywhere(std::int32_t count) const { return first(free_, count); }
  CoreSet on(std::size_t numa, std::int32_t count) const {
    return first(inventory_.numa[numa].cores & free_, count);
  }

 private:
  CoreSet first(const CoreSet& among, std::int32_t count) const {
    return first_cores(inventory_, among, static_cast<std::size_t>(count), threads_);
  }

  const Inventory& inventory_;
  const CoreSet& free_;
  const Threads threads_;
};

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

CoreSet first_cores(const Inventory& inventory, const CoreSet& free, std::size_t count,
                    Threads threads) {
  const bool together = threads == Threads::kTogether && !inventory.thread_order.empty();
  return together ? first_together(inventory, free, count) : free.first(count);
}

CoreSet choose_cores(const Inventory& inventory, const CoreSet& free, std::int32_t count,
                     NumaDemands& demands, Threads threads) {
  if (count <= 0) return {};
  const Pick pick(inventory, free, threads);
  // One NUMA node, or one that has all the cores: no dealing. That is nearly every call of a large
  // cluster.
  if (inventory.numa.size() == 1) {
    CHECK(static_cast<std::size_t>(count) <= free.size(), "capacity promised these cores");
    if (!demands.empty()) demands.front().cores += count;
    return pick.anywhere(count);
  }
  // All devices on one NUMA node with enough cores.
  if (demands.size() == 1) {
    const auto numa = static_cast<std::size_t>(demands.front().numa_node);
    if (count_on(inventory.numa[numa], free) >= count) {
      demands.front().cores += count;
      return pick.on(numa, count);
    }
  }
  CoreCounts left = count_cores(inventory, free);
  // No devices: all cores from one NUMA node, if there is one with room.
  if (demands.empty()) {
    const std::size_t numa = next_anywhere(left, count);
    if (numa < left.size() && left[numa] >= count) {
      return pick.on(numa, count);
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
  for (std::size_t i = 0; i < taken_on.size(); ++i) {
    if (taken_on[i] > 0) taken |= pick.on(i, taken_on[i]);
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
