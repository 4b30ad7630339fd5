#include "core/place/fit.h"

#include <algorithm>

#include "base/check.h"
#include "core/state/amount.h"
#include "core/state/books.h"
#include "core/state/cores.h"
#include "core/state/executors/core_numbers.h"

namespace dove::core {
namespace {

// How many tasks get their devices beside what the group asks per node.
std::int32_t device_room(const FreeView& free, const TaskGroup& group,
                         const PlacementPolicy& policy, std::int32_t most) {
  const bool per_node = wants_devices(group.per_node);
  const bool per_task = wants_devices(group.per_task);
  const DeviceView view = free.devices();
  // One of the two kinds of requests is the rule; then no device has to be taken to count the
  // others.
  if (!per_node) return per_task ? device_capacity(view, group.per_task, most) : most;
  if (!per_task) return device_capacity(view, group.per_node, 1) > 0 ? most : 0;
  // Both: what the node's request takes is not there for the tasks, and which devices it takes is
  // the policy's choice. So it is tried on a copy.
  DeviceBooks books{{view.free_milli.begin(), view.free_milli.end()},
                    {view.slots_taken.begin(), view.slots_taken.end()}};
  std::vector<DeviceGrant> ignored;
  const bool taken =
      allocate_devices(view.inventory, books, {view.cores, group.per_node.cores, group.affinity},
                       group.per_node, policy, ignored);
  if (!taken) return 0;
  return device_capacity({view.inventory, books.free_milli, books.slots_taken, view.cores},
                         group.per_task, most);
}

std::int32_t countable_capacity(const FreeView& free, const TaskGroup& group, std::int32_t most) {
  std::int64_t fits = most;
  for (const Countable& one : group.per_node.countables) {
    if (amount_of(*free.countables, one.name) < one.amount) return 0;
  }
  for (const Countable& one : group.per_task.countables) {
    const std::int64_t left =
        // The node's share is held once, however many tasks follow.
        amount_of(*free.countables, one.name) - amount_of(group.per_node.countables, one.name);
    if (one.amount > 0) fits = std::min(fits, left / one.amount);
  }
  // Below zero: more is reserved on the node than it has.
  return static_cast<std::int32_t>(std::max<std::int64_t>(fits, 0));
}

bool comes_before(const DeviceGrant& a, const DeviceGrant& b) {
  return a.device != b.device ? a.device < b.device : a.slice.start < b.slice.start;
}

void add_devices(std::vector<DeviceGrant>& to, const std::vector<DeviceGrant>& from) {
  if (to.empty()) to.reserve(from.size());
  for (const DeviceGrant& one : from) {
    // Two tasks may share a device: the placement names it once, with the sum.
    auto at = std::lower_bound(to.begin(), to.end(), one, comes_before);
    if (at != to.end() && at->device == one.device && at->slice == one.slice) {
      at->share_milli += one.share_milli;
    } else {
      to.insert(at, one);
    }
  }
}

void allocate_countables(FreeBooks& books, const std::vector<Countable>& asked,
                         Placement& placement) {
  for (const Countable& one : asked) {
    if (one.amount == 0) continue;
    // Books name every resource of the node; one that is not there was refused by capacity().
    for (Countable& free : books.countables) {
      if (free.name == one.name) free.amount -= one.amount;
    }
    auto at = std::lower_bound(placement.countables.begin(), placement.countables.end(), one.name,
                               [](const Countable& c, const std::string& n) { return c.name < n; });
    if (at == placement.countables.end() || at->name != one.name) {
      at = placement.countables.insert(at, Countable{one.name, 0});
    }
    at->amount += one.amount;
  }
}

// What a request gets; devices ascend.
struct Granted {
  CoreSet cores;
  std::vector<DeviceGrant> devices;
};

// What goes for all requests of a group on one node.
struct Taken {
  Affinity affinity;
  const PlacementPolicy& policy;
  NumaDemands beside = {};  // of devices that the cores go with when the request has none itself
};

// `cores_wanted`: cores that go with the request's devices.
Granted allocate_request(FreeBooks& books, const Request& request, std::int32_t cores_wanted,
                         Taken& taken, Placement& placement) {
  Granted granted;
  // Devices before cores: the cores are chosen beside them, while moving a device to the cores is
  // not possible.
  if (wants_devices(request)) {
    const DeviceWish wish{books.cores, cores_wanted, taken.affinity};
    const bool all = allocate_devices(*books.inventory, books.devices, wish, request, taken.policy,
                                      granted.devices);
    CHECK(all, "capacity promised these devices");
    std::sort(granted.devices.begin(), granted.devices.end(), comes_before);
    taken.beside = numa_demands(*books.inventory, granted.devices);
  }
  if (request.cores > 0) {
    if (taken.affinity == Affinity::kInterleaved && taken.beside.empty()) {
      taken.beside = even_demands(*books.inventory, books.cores);
    }
    // From the NUMA nodes of the devices, in proportion, and only then from others.
    granted.cores = choose_cores(*books.inventory, books.cores, request.cores, taken.beside,
                                 books.whole_cores ? Threads::kTogether : Threads::kAnywhere);
    books.cores -= granted.cores;
  }
  books.memory_bytes -= request.memory_bytes;
  placement.memory_bytes += request.memory_bytes;
  allocate_countables(books, request.countables, placement);
  // Cores of a node-wide request are seen by all its tasks, so the placement's set is a union, not
  // a sum.
  placement.cores |= granted.cores;
  add_devices(placement.devices, granted.devices);
  return granted;
}

void grant_whole_cores(FreeBooks& books, Placement& placement) {
  const CoreSet beside = with_siblings(*books.inventory, placement.cores) & books.cores;
  if (beside.empty()) return;
  for (TaskGrant& task : placement.tasks) {
    task.cores |= with_siblings(*books.inventory, task.cores) & beside;
  }
  placement.cores |= beside;
  books.cores -= beside;
}

void grant_rest(FreeBooks& books, Placement& placement) {
  // All that is left of the node goes to the job, which then sees every core and device, as
  // `--exclusive` in Slurm. Sliced devices stay out: a slice is what was asked for.
  std::vector<DeviceGrant> rest;
  for (std::size_t i = 0; i < books.devices.free_milli.size(); ++i) {
    std::int32_t& milli = books.devices.free_milli[i];
    if (milli <= 0 || is_sliced(books.devices.slots_taken, i)) continue;
    rest.push_back({static_cast<std::int32_t>(i), milli, {}});
    milli = 0;
  }
  for (TaskGrant& task : placement.tasks) {
    task.cores |= books.cores;
    add_devices(task.devices, rest);
  }
  placement.cores |= books.cores;
  add_devices(placement.devices, rest);
  placement.memory_bytes += books.memory_bytes;
  books.cores.clear();
  books.memory_bytes = 0;
}

}  // namespace

FreeBooks::FreeBooks(const FreeView& free)
    : inventory(free.inventory),
      cores(*free.cores),
      devices{{free.devices_milli.begin(), free.devices_milli.end()},
              {free.slots_taken.begin(), free.slots_taken.end()}},
      memory_bytes(free.memory_bytes),
      countables(*free.countables),
      whole_cores(free.whole_cores) {}

FreeBooks::FreeBooks(const Node& node) : FreeBooks(view_of(node)) {}

FreeView FreeBooks::view() const {
  return {inventory,    &cores,      devices.free_milli, devices.slots_taken,
          memory_bytes, &countables, whole_cores};
}

FreeView view_of(const Node& node) {
  return {node.inventory.get(),   &node.cores_free,      node.device_free_milli, node.slots_taken,
          node.memory_free_bytes, &node.countables_free, gives_whole_cores(node)};
}

std::int32_t capacity(const FreeView& free, const TaskGroup& group, const PlacementPolicy& policy,
                      std::int32_t most) {
  const std::int64_t cores = static_cast<std::int64_t>(free.cores->size()) - group.per_node.cores;
  const std::int64_t memory = free.memory_bytes - group.per_node.memory_bytes;
  // Negative memory (reserved by an administrator since) bars only those who ask for some.
  if (cores < 0 || (memory < 0 && group.per_node.memory_bytes + group.per_task.memory_bytes > 0)) {
    return 0;
  }
  std::int64_t fits = most;
  if (group.per_task.cores > 0) fits = std::min(fits, cores / group.per_task.cores);
  if (group.per_task.memory_bytes > 0) fits = std::min(fits, memory / group.per_task.memory_bytes);
  // Cores and memory are a division each; devices take a loop, so they come last and only when it
  // matters.
  if (fits <= 0) return 0;
  most = countable_capacity(free, group, static_cast<std::int32_t>(fits));
  return most == 0 ? 0 : device_room(free, group, policy, most);
}

NodeNeeds needs_of(const TaskGroup& group, std::int32_t tasks) {
  // A lower bound in every part: a node with less cannot hold the tasks, one with as much may still
  // not. Ranks and sums are compared with it.
  NodeNeeds needs;
  for (const auto& [request, times] :
       {std::pair<const Request&, std::int64_t>{group.per_task, tasks},
        std::pair<const Request&, std::int64_t>{group.per_node, 1}}) {
    needs.cores += times * request.cores;
    needs.memory_bytes += times * request.memory_bytes;
    needs.gpus_milli += times * least_milli(request);
  }
  return needs;
}

void grant(FreeBooks& books, const TaskGroup& group, std::int32_t group_index, Rank first_rank,
           std::int32_t tasks, const PlacementPolicy& policy, Placement& placement) {
  const bool own_devices = wants_devices(group.per_task);
  // Tasks without devices of their own work on the node's: their cores count when devices are
  // chosen, so that devices and cores end up together.
  const std::int64_t of_tasks = own_devices ? 0 : std::int64_t{tasks} * group.per_task.cores;
  Taken taken{group.affinity, policy};
  const Granted shared = allocate_request(
      books, group.per_node, static_cast<std::int32_t>(group.per_node.cores + of_tasks), taken,
      placement);
  for (std::int32_t i = 0; i < tasks; ++i) {
    Granted own = allocate_request(books, group.per_task, group.per_task.cores, taken, placement);
    TaskGrant task;
    // Ranks ascend within a placement, and across placements in the order of the topology.
    task.rank = first_rank + static_cast<Rank>(i);
    task.group = group_index;
    task.local_rank = static_cast<std::int32_t>(placement.tasks.size());
    task.cores = own.cores | shared.cores;
    task.devices = std::move(own.devices);
    add_devices(task.devices, shared.devices);
    placement.tasks.push_back(std::move(task));
  }
}

void grant_along(FreeBooks& books, bool exclusive, Placement& placement) {
  if (exclusive) {
    grant_rest(books, placement);
  } else if (books.whole_cores) {
    grant_whole_cores(books, placement);
  }
}

}  // namespace dove::core
