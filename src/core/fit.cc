#include "core/fit.h"

#include <algorithm>

#include "base/check.h"
#include "core/books.h"

namespace dove::core {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_model(const std::string& asked, const std::string& found) {
  return std::equal(asked.begin(), asked.end(), found.begin(), found.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

bool wants_devices(const Request& request) { return request.gpus > 0 || request.share_milli > 0; }

std::vector<DeviceOffer> offers(const Inventory& inventory, std::span<const std::int32_t> milli,
                                const Request& request, std::int32_t at_least_milli) {
  std::vector<DeviceOffer> found;
  for (std::size_t i = 0; i < milli.size(); ++i) {
    const Device& device = inventory.devices[i];
    if (milli[i] >= at_least_milli && matches(request, device)) {
      found.push_back({static_cast<std::int32_t>(i), device.numa_node, milli[i]});
    }
  }
  return found;
}

// Takes one request's devices; false (and nothing taken) when they are not there.
bool take_devices(const Inventory& inventory, std::vector<std::int32_t>& milli,
                  const Request& request, const PlacementPolicy& policy,
                  std::vector<DeviceGrant>& out) {
  if (request.gpus > 0) {
    const auto whole = offers(inventory, milli, request, kWholeDevice_milli);
    if (static_cast<std::int32_t>(whole.size()) < request.gpus) return false;
    for (std::int32_t device : policy.whole_devices(whole, request.gpus)) {
      milli[static_cast<std::size_t>(device)] -= kWholeDevice_milli;
      out.push_back({device, kWholeDevice_milli});
    }
  } else if (request.share_milli > 0) {
    const auto roomy = offers(inventory, milli, request, request.share_milli);
    if (roomy.empty()) return false;
    const std::int32_t device = policy.share_device(roomy);
    milli[static_cast<std::size_t>(device)] -= request.share_milli;
    out.push_back({device, request.share_milli});
  }
  return true;
}

std::int32_t device_capacity(const FreeView& free, const TaskGroup& group,
                             const PlacementPolicy& policy, std::int32_t most) {
  const bool per_node = wants_devices(group.per_node);
  if (!per_node && !wants_devices(group.per_task)) return most;
  std::vector<std::int32_t> milli(free.devices_milli.begin(), free.devices_milli.end());
  if (per_node) {
    std::vector<DeviceGrant> ignored;
    if (!take_devices(*free.inventory, milli, group.per_node, policy, ignored)) return 0;
  }
  const Request& task = group.per_task;
  if (!wants_devices(task)) return most;
  std::int64_t fits = 0;
  for (std::size_t i = 0; i < milli.size(); ++i) {
    if (!matches(task, free.inventory->devices[i])) continue;
    if (task.gpus > 0) {
      fits += milli[i] >= kWholeDevice_milli ? 1 : 0;
    } else if (milli[i] > 0) {
      fits += milli[i] / task.share_milli;
    }
  }
  if (task.gpus > 0) fits /= task.gpus;
  return static_cast<std::int32_t>(std::min<std::int64_t>(most, fits));
}

std::int32_t countable_capacity(const FreeView& free, const TaskGroup& group, std::int32_t most) {
  std::int64_t fits = most;
  for (const Countable& one : group.per_node.countables) {
    if (amount_of(*free.countables, one.name) < one.amount) return 0;
  }
  for (const Countable& one : group.per_task.countables) {
    const std::int64_t left =
        amount_of(*free.countables, one.name) - amount_of(group.per_node.countables, one.name);
    if (one.amount > 0) fits = std::min(fits, left / one.amount);
  }
  return static_cast<std::int32_t>(std::max<std::int64_t>(fits, 0));
}

// The free cores of one NUMA node.
std::vector<std::int32_t> free_cores(const FreeBooks& books, const NumaNode& numa) {
  std::vector<std::int32_t> cores;
  std::set_intersection(books.cores.begin(), books.cores.end(), numa.cores.begin(),
                        numa.cores.end(), std::back_inserter(cores));
  return cores;
}

// NUMA nodes in the order in which cores are taken: the wanted one, then the tightest that holds
// all, then the emptiest first.
std::vector<std::int32_t> take_cores(FreeBooks& books, std::int32_t count, std::int32_t wanted) {
  std::vector<std::int32_t> taken;
  if (count <= 0) return taken;
  struct Offer {
    std::int32_t order;
    std::int64_t size;
    std::vector<std::int32_t> cores;
  };
  std::vector<Offer> found;
  for (std::size_t i = 0; i < books.inventory->numa.size(); ++i) {
    auto cores = books.inventory->numa.size() == 1 ? books.cores
                                                   : free_cores(books, books.inventory->numa[i]);
    const auto size = static_cast<std::int64_t>(cores.size());
    if (size == 0) continue;
    std::int32_t order = size >= count ? 1 : 2;
    if (static_cast<std::int32_t>(i) == wanted) order = 0;
    found.push_back({order, order == 1 ? size : -size, std::move(cores)});
  }
  std::stable_sort(found.begin(), found.end(), [](const Offer& a, const Offer& b) {
    return a.order != b.order ? a.order < b.order : a.size < b.size;
  });
  for (const Offer& offer : found) {
    for (std::int32_t core : offer.cores) {
      if (static_cast<std::int32_t>(taken.size()) < count) taken.push_back(core);
    }
  }
  CHECK(static_cast<std::int32_t>(taken.size()) == count, "capacity promised these cores");
  std::sort(taken.begin(), taken.end());
  std::vector<std::int32_t> left;
  left.reserve(books.cores.size());
  std::set_difference(books.cores.begin(), books.cores.end(), taken.begin(), taken.end(),
                      std::back_inserter(left));
  books.cores = std::move(left);
  return taken;
}

void add_devices(std::vector<DeviceGrant>& to, const std::vector<DeviceGrant>& from) {
  for (const DeviceGrant& one : from) {
    auto at = std::lower_bound(
        to.begin(), to.end(), one.device,
        [](const DeviceGrant& g, std::int32_t device) { return g.device < device; });
    if (at != to.end() && at->device == one.device) {
      at->share_milli += one.share_milli;
    } else {
      to.insert(at, one);
    }
  }
}

void add_cores(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from) {
  const auto middle = to.insert(to.end(), from.begin(), from.end());
  std::inplace_merge(to.begin(), middle, to.end());
}

void take_countables(FreeBooks& books, const std::vector<Countable>& asked, Placement& placement) {
  for (const Countable& one : asked) {
    if (one.amount == 0) continue;
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

struct Granted {
  std::vector<std::int32_t> cores;
  std::vector<DeviceGrant> devices;
};

Granted take_request(FreeBooks& books, const Request& request, const PlacementPolicy& policy,
                     Placement& placement) {
  Granted granted;
  const bool taken =
      take_devices(*books.inventory, books.devices_milli, request, policy, granted.devices);
  CHECK(taken, "capacity promised these devices");
  std::int32_t numa = -1;
  if (!granted.devices.empty()) {
    numa = books.inventory->devices[static_cast<std::size_t>(granted.devices.front().device)]
               .numa_node;
  }
  granted.cores = take_cores(books, request.cores, numa);
  books.memory_bytes -= request.memory_bytes;
  placement.memory_bytes += request.memory_bytes;
  take_countables(books, request.countables, placement);
  add_cores(placement.cores, granted.cores);
  add_devices(placement.devices, granted.devices);
  return granted;
}

}  // namespace

bool matches(const Request& request, const Device& device) {
  if (device.kind != "gpu") return false;
  if (!request.gpu_model.empty() && !same_model(request.gpu_model, device.model)) return false;
  return device.memory_bytes >= request.gpu_memory_bytes;
}

FreeBooks::FreeBooks(const Node& node)
    : inventory(node.inventory.get()),
      cores(node.cores_free),
      devices_milli(node.device_free_milli),
      memory_bytes(node.memory_free_bytes),
      countables(node.countables_free) {}

FreeView FreeBooks::view() const {
  return {inventory, cores, devices_milli, memory_bytes, &countables};
}

FreeView view_of(const Node& node) {
  return {node.inventory.get(), node.cores_free, node.device_free_milli, node.memory_free_bytes,
          &node.countables_free};
}

std::int32_t capacity(const FreeView& free, const TaskGroup& group, const PlacementPolicy& policy,
                      std::int32_t most) {
  const std::int64_t cores = static_cast<std::int64_t>(free.cores.size()) - group.per_node.cores;
  const std::int64_t memory = free.memory_bytes - group.per_node.memory_bytes;
  if (cores < 0 || (memory < 0 && group.per_node.memory_bytes + group.per_task.memory_bytes > 0)) {
    return 0;
  }
  std::int64_t fits = most;
  if (group.per_task.cores > 0) fits = std::min(fits, cores / group.per_task.cores);
  if (group.per_task.memory_bytes > 0) fits = std::min(fits, memory / group.per_task.memory_bytes);
  if (fits <= 0) return 0;
  most = countable_capacity(free, group, static_cast<std::int32_t>(fits));
  return most == 0 ? 0 : device_capacity(free, group, policy, most);
}

NodeNeeds needs_of(const TaskGroup& group, std::int32_t tasks) {
  NodeNeeds needs;
  for (const auto& [request, times] :
       {std::pair<const Request&, std::int64_t>{group.per_task, tasks},
        std::pair<const Request&, std::int64_t>{group.per_node, 1}}) {
    needs.cores += times * request.cores;
    needs.memory_bytes += times * request.memory_bytes;
    needs.gpus_milli += times * (request.gpus * kWholeDevice_milli + request.share_milli);
  }
  return needs;
}

void grant(FreeBooks& books, const TaskGroup& group, std::int32_t group_index, Rank first_rank,
           std::int32_t tasks, const PlacementPolicy& policy, Placement& placement) {
  const Granted shared = take_request(books, group.per_node, policy, placement);
  for (std::int32_t i = 0; i < tasks; ++i) {
    Granted own = take_request(books, group.per_task, policy, placement);
    TaskGrant task;
    task.rank = first_rank + static_cast<Rank>(i);
    task.group = group_index;
    task.local_rank = static_cast<std::int32_t>(placement.tasks.size());
    task.cores = std::move(own.cores);
    add_devices(task.devices, own.devices);
    add_cores(task.cores, shared.cores);
    add_devices(task.devices, shared.devices);
    placement.tasks.push_back(std::move(task));
  }
}

void grant_rest(FreeBooks& books, Placement& placement) {
  std::vector<DeviceGrant> rest;
  for (std::size_t i = 0; i < books.devices_milli.size(); ++i) {
    if (books.devices_milli[i] > 0) {
      rest.push_back({static_cast<std::int32_t>(i), books.devices_milli[i]});
      books.devices_milli[i] = 0;
    }
  }
  for (TaskGrant& task : placement.tasks) {
    add_cores(task.cores, books.cores);
    add_devices(task.devices, rest);
  }
  add_cores(placement.cores, books.cores);
  add_devices(placement.devices, rest);
  placement.memory_bytes += books.memory_bytes;
  books.cores.clear();
  books.memory_bytes = 0;
}

}  // namespace dove::core
