// Cores: which of a node's free cores go with the granted devices, by NUMA node. Pure.
//
// With devices, the first cores are one on each NUMA node that has some of the devices, so that
// each of these NUMA nodes is active in the job, as GPUDirect Storage requires. The other cores are
// distributed over these NUMA nodes in proportion to their devices. Cores that these NUMA nodes
// cannot give, and cores of a job without devices, come from the tightest NUMA node that holds all
// of them, or else from the emptiest first.
//
// A node may be shared with a scheduler that gives whole cores where ours are hardware threads. The
// threads of one core then stay together as far as possible.
#pragma once

#include <cstdint>
#include <span>

#include "core/collections/short_list.h"
#include "model/node.h"
#include "model/placement.h"

namespace dove::core {

// A NUMA node on which a placement has devices, and the cores that it was given there so far.
struct NumaDemand {
  std::int32_t numa_node = 0;
  std::int32_t devices = 0;
  std::int32_t cores = 0;
};

using NumaDemands = ShortList<NumaDemand, 4>;
using CoreCounts = ShortList<std::int32_t, 8>;  // by NUMA node

// Ascending by numa_node; devices of no known NUMA node, or that are gone, are left out.
NumaDemands numa_demands(const Inventory& inventory, std::span<const DeviceGrant> devices);

// One for each NUMA node, those with the most free cores first: cores that are to lie evenly over
// all of them.
NumaDemands even_demands(const Inventory& inventory, const CoreSet& free);

enum class Threads : bool { kAnywhere, kTogether };

// `count` of the free cores; adds them to `demands`. REQUIRES: 0 <= count <= free.size().
CoreSet choose_cores(const Inventory& inventory, const CoreSet& free, std::int32_t count,
                     NumaDemands& demands, Threads threads = Threads::kAnywhere);

// The first `count` of the free cores. REQUIRES: 0 <= count <= free.size().
CoreSet first_cores(const Inventory& inventory, const CoreSet& free, std::size_t count,
                    Threads threads);

// How many of the free cores each NUMA node has.
CoreCounts count_cores(const Inventory& inventory, const CoreSet& free);

// On how many NUMA nodes the placement has devices and none of its cores; 0 when it has no cores.
std::int32_t numa_nodes_without_core(const Inventory& inventory, const Placement& placement);

}  // namespace dove::core
