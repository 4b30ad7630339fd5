// How other schedulers number a node's cores: physical cores from 0, socket after socket. Ours are
// hardware threads by the kernel's number (Inventory::thread_order).
//
// Slurm's order is that of hwloc's logical cores (its slurmd, xcpuinfo.c). Pure.
#pragma once

#include "model/core_set.h"
#include "model/node.h"

namespace dove::core {

struct Node;

// All threads of these cores. Numbers that the node does not have are passed over.
CoreSet threads_of(const Inventory& inventory, const CoreSet& numbers);
// The same of the node's; all of them where nothing is known of it.
CoreSet our_cores(const Node& node, const CoreSet& numbers);
// The cores that have at least one of the threads.
CoreSet core_numbers(const Inventory& inventory, const CoreSet& threads);
// These threads with all others of their cores.
CoreSet with_siblings(const Inventory& inventory, const CoreSet& threads);
// 1 where each id is a core.
std::int32_t threads_per_core(const Inventory& inventory);

// Whether the node is shared with another scheduler, and its cores have several threads each. What
// is placed there gets whole cores, as it does from Slurm: half a core could be held by nobody.
bool gives_whole_cores(const Node& node);

}  // namespace dove::core
