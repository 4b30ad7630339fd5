#include "core/cores.h"

#include <algorithm>

#include "base/check.h"

namespace dove::core {
namespace {

using Cores = std::span<const std::int32_t>;

// Calls `use` with each free core of the NUMA node, ascending, until it returns false.
template <class Use>
void for_free_cores(const NumaNode& numa, Cores free, Use use) {
  auto at = free.begin();
  for (std::int32_t core : numa.cores) {
    at = std::lower_bound(at, free.end(), core);
    if (at == free.end()) return;
    if (*at == core && !use(core)) return;
  }
}

bool has_no_gap(const NumaNode& numa) {
  return !numa.cores.empty() &&
         numa.cores.back() - numa.cores.front() + 1 == static_cast<std::int32_t>(numa.cores.size());
}

// The free cores of a NUMA node whose ids have no gap.
Cores run_of(const NumaNode& numa, Cores free) {
  const auto begin = std::lower_bound(free.begin(), free.end(), numa.cores.front());
  const auto end = std::upper_bound(begin, free.end(), numa.cores.back());
  return {begin, end};
}

std::int32_t count_on(const NumaNode& numa, Cores free) {
  if (has_no_gap(numa)) return static_cast<std::int32_t>(run_of(numa, free).size());
  std::int32_t count = 0;
  for_free_cores(numa, free, [&](std::int32_t) { return ++count > 0; });
  return count;
}

// The first `count` of the NUMA node's free cores. REQUIRES: there are so many, and count > 0.
std::vector<std::int32_t> first_of(const NumaNode& numa, Cores free, std::int32_t count) {
  if (has_no_gap(numa)) {
    const Cores run = run_of(numa, free);
    return {run.begin(), run.begin() + count};
  }
  std::vector<std::int32_t> cores;
  cores.reserve(static_cast<std::size_t>(count));
  for_free_cores(numa, free, [&](std::int32_t core) {
    cores.push_back(core);
    return --count > 0;
  });
  return cores;
}

// The demand that gets the next core: one that has none yet, else the one with the fewest for its
// devices; null when none has a free core left.
NumaDemand* next_demand(std::vector<NumaDemand>& demands, const std::vector<std::int32_t>& left) {
  NumaDemand* next = nullptr;
  for (NumaDemand& each : demands) {
    if (left[static_cast<std::size_t>(each.numa_node)] == 0) continue;
    const bool first = each.cores == 0;
    if (next == nullptr || (first && next->cores > 0)) {
      next = &each;
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
std::int32_t deal_sure_parts(std::vector<NumaDemand>& demands, std::int32_t count,
                             std::vector<std::int32_t>& left, std::vector<std::int32_t>& taken_on) {
  std::int64_t devices = 0;
  for (const NumaDemand& each : demands) devices += each.devices;
  const auto part = [&](const NumaDemand& each) {
    return std::int64_t{count} * each.devices / devices;
  };
  const bool is_sure = std::all_of(demands.begin(), demands.end(), [&](const NumaDemand& each) {
    return each.cores == 0 && part(each) > 0 &&
           part(each) <= left[static_cast<std::size_t>(each.numa_node)];
  });
  if (!is_sure) return count;
  std::int32_t missing = count;
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
std::size_t next_anywhere(const std::vector<std::int32_t>& left, std::int32_t wanted) {
  std::size_t best = left.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == 0) continue;
    if (best == left.size()) {
      best = i;
      continue;
    }
    const bool holds = left[i] >= wanted;
    const bool best_holds = left[best] >= wanted;
    if (holds != best_holds ? holds : holds ? left[i] < left[best] : left[i] > left[best]) best = i;
  }
  return best;
}

}  // namespace

std::vector<NumaDemand> numa_demands(const Inventory& inventory,
                                     std::span<const DeviceGrant> devices) {
  std::vector<NumaDemand> demands;
  for (const DeviceGrant& grant : devices) {
    if (grant.device >= static_cast<std::int32_t>(inventory.devices.size())) continue;
    const std::int32_t numa = inventory.devices[static_cast<std::size_t>(grant.device)].numa_node;
    if (numa < 0 || numa >= static_cast<std::int32_t>(inventory.numa.size())) continue;
    auto at = std::lower_bound(
        demands.begin(), demands.end(), numa,
        [](const NumaDemand& demand, std::int32_t node) { return demand.numa_node < node; });
    if (at == demands.end() || at->numa_node != numa) at = demands.insert(at, {numa, 0, 0});
    ++at->devices;
  }
  return demands;
}

// What comes or goes lies together, most often: run by run.
void add_cores(std::vector<std::int32_t>& to, std::span<const std::int32_t> more) {
  while (!more.empty()) {
    const auto at = std::lower_bound(to.begin(), to.end(), more.front());
    const bool is_there = at != to.end() && *at == more.front();
    const auto end = at == to.end() ? more.end() : std::lower_bound(more.begin(), more.end(), *at);
    if (!is_there) to.insert(at, more.begin(), end);
    more = is_there ? more.subspan(1) : std::span(end, more.end());
  }
}

void remove_cores(std::vector<std::int32_t>& from, std::span<const std::int32_t> gone) {
  while (!gone.empty()) {
    const auto at = std::lower_bound(from.begin(), from.end(), gone.front());
    const auto [end, rest] = std::mismatch(at, from.end(), gone.begin(), gone.end());
    from.erase(at, end);
    gone = at == end ? gone.subspan(1) : std::span(rest, gone.end());
  }
}

std::vector<std::int32_t> count_cores(const Inventory& inventory, Cores free) {
  std::vector<std::int32_t> counts;
  counts.reserve(inventory.numa.size());
  for (const NumaNode& numa : inventory.numa) counts.push_back(count_on(numa, free));
  return counts;
}

std::vector<std::int32_t> choose_cores(const Inventory& inventory, Cores free, std::int32_t count,
                                       std::vector<NumaDemand>& demands) {
  if (count <= 0) return {};
  if (inventory.numa.size() == 1) {
    CHECK(static_cast<std::size_t>(count) <= free.size(), "capacity promised these cores");
    if (!demands.empty()) demands.front().cores += count;
    return {free.begin(), free.begin() + count};
  }
  if (demands.size() == 1) {
    const NumaNode& numa = inventory.numa[static_cast<std::size_t>(demands.front().numa_node)];
    if (count_on(numa, free) >= count) {
      demands.front().cores += count;
      return first_of(numa, free, count);
    }
  }
  std::vector<std::int32_t> left = count_cores(inventory, free);
  if (demands.empty()) {
    const std::size_t numa = next_anywhere(left, count);
    if (numa < left.size() && left[numa] >= count) {
      return first_of(inventory.numa[numa], free, count);
    }
  }
  std::vector<std::int32_t> taken_on(left.size(), 0);
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
  while (missing > 0) {
    const std::size_t numa = next_anywhere(left, missing);
    CHECK(numa < left.size(), "capacity promised these cores");
    const std::int32_t some = std::min(left[numa], missing);
    taken_on[numa] += some;
    left[numa] -= some;
    missing -= some;
  }
  std::vector<std::int32_t> taken;
  for (std::size_t i = 0; i < taken_on.size(); ++i) {
    if (taken_on[i] == count) return first_of(inventory.numa[i], free, count);
    if (taken_on[i] > 0) add_cores(taken, first_of(inventory.numa[i], free, taken_on[i]));
  }
  return taken;
}

std::int32_t numa_nodes_without_core(const Inventory& inventory, const Placement& placement) {
  if (placement.cores.empty()) return 0;
  std::int32_t without = 0;
  for (const NumaDemand& demand : numa_demands(inventory, placement.devices)) {
    const NumaNode& numa = inventory.numa[static_cast<std::size_t>(demand.numa_node)];
    const bool has = std::any_of(numa.cores.begin(), numa.cores.end(), [&](std::int32_t core) {
      return std::binary_search(placement.cores.begin(), placement.cores.end(), core);
    });
    if (!has) ++without;
  }
  return without;
}

}  // namespace dove::core
