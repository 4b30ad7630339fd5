#include "backends/native/steps/step_rooms.h"

#include <strings.h>

#include <algorithm>
#include <limits>

#include "core/state/cores.h"

namespace dove::backends {
namespace {

std::int32_t slots(const Placement& placement) {
  return std::max<std::int32_t>(1, static_cast<std::int32_t>(placement.tasks.size()));
}

std::int32_t cores_of_task(const StepRequest& request) {
  return std::max(1, request.cores_per_task);
}

bool is_of_model(const Inventory* inventory, std::int32_t device, const std::string& model) {
  if (model.empty()) return true;
  const auto at = static_cast<std::size_t>(device);
  return inventory != nullptr && at < inventory->devices.size() &&
         strcasecmp(inventory->devices[at].model.c_str(), model.c_str()) == 0;
}

void keep_model(const Inventory* inventory, const std::string& model, StepHolding& holding) {
  std::erase_if(holding.devices, [&](const DeviceGrant& grant) {
    return !is_of_model(inventory, grant.device, model);
  });
}

std::int32_t tasks_by_devices(const StepRoom& room, const StepRequest& request,
                              std::int32_t enough) {
  const StepDevices& asked = request.devices;
  const auto have = static_cast<std::int32_t>(room.free.devices.size());
  if (asked.none()) return enough;
  if (asked.per_task) return have / *asked.per_task;
  if (asked.tasks_per_device > 0) return std::min(enough, have * asked.tasks_per_device);
  if (asked.per_node) return have >= *asked.per_node ? enough : 0;
  if (asked.total) return have > 0 ? enough : 0;
  // One with cores of its own has all of its job's devices to itself, too.
  const bool all_free = have == static_cast<std::int32_t>(room.placement->devices.size());
  return !request.exact || request.overlap || all_free ? enough : 0;
}

// Which of its node's devices a task sees.
std::vector<DeviceGrant> bound(const std::vector<DeviceGrant>& all, const StepDevices& asked,
                               std::int32_t position) {
  using Kind = DeviceBind::Kind;
  DeviceBind bind = asked.bind;
  if (bind.kind == Kind::kDefault) {
    if (asked.per_task) bind = {Kind::kPerTask, *asked.per_task, {}};
    if (asked.tasks_per_device > 0) bind = {Kind::kSingle, asked.tasks_per_device, {}};
  }
  const std::size_t size = all.size();
  if (size == 0) return {};
  std::vector<DeviceGrant> mine;
  const auto at = static_cast<std::size_t>(position);
  const auto count = static_cast<std::size_t>(std::max(1, bind.count));
  switch (bind.kind) {
    case Kind::kDefault:
    case Kind::kAll:
      return all;
    case Kind::kSingle:
      return {all[at / count % size]};
    case Kind::kPerTask:
      for (std::size_t i = 0; i < std::min(count, size); ++i) {
        mine.push_back(all[(at * count + i) % size]);
      }
      return mine;
    case Kind::kMap:
      return {all[bind.list[at % bind.list.size()] % size]};
    case Kind::kMask:
      for (std::size_t i = 0; i < std::min<std::size_t>(size, 64); ++i) {
        if ((bind.list[at % bind.list.size()] >> i & 1) != 0) mine.push_back(all[i]);
      }
      return mine;
  }
  return all;
}

TaskGrant merged(const Placement& placement, std::size_t begin, std::size_t end) {
  TaskGrant grant;
  for (std::size_t i = begin; i < end; ++i) {
    const TaskGrant& slot = placement.tasks[i];
    grant.cores |= slot.cores;
    for (const DeviceGrant& device : slot.devices) {
      if (std::find(grant.devices.begin(), grant.devices.end(), device) == grant.devices.end()) {
        grant.devices.push_back(device);
      }
    }
  }
  return grant;
}

// For a step that shares: what the node's slots hold is split among its tasks.
TaskGrant split_grant(const Placement& placement, std::int32_t position, std::int32_t count) {
  const std::size_t held = placement.tasks.size();
  TaskGrant grant;
  if (held == 0 || static_cast<std::size_t>(count) > held) {
    // More tasks than slots share what the node holds.
    grant.cores = placement.cores;
    grant.devices = placement.devices;
    return grant;
  }
  const auto at = [&](std::int32_t i) {
    return static_cast<std::size_t>(i) * held / static_cast<std::size_t>(count);
  };
  return merged(placement, at(position), at(position + 1));
}

CoreSet exact_cores(const StepRoom& room, std::size_t count,
                    const std::vector<DeviceGrant>& devices) {
  if (count >= room.free.cores.size()) return room.free.cores;
  if (room.inventory == nullptr || room.inventory->numa.empty()) {
    return room.free.cores.first(count);
  }
  core::NumaDemands demands = core::numa_demands(*room.inventory, devices);
  return core::choose_cores(*room.inventory, room.free.cores, static_cast<std::int32_t>(count),
                            demands);
}

}  // namespace

StepRoom whole_room(const core::Node& node, const Placement& placement,
                    const StepRequest& request) {
  StepRoom room;
  room.placement = &placement;
  room.inventory = node.inventory.get();
  room.free = {placement.cores, placement.devices, placement.memory_bytes};
  keep_model(room.inventory, request.devices.model, room.free);
  return room;
}

StepRoom room_left(const StepRoom& whole, const StepRequest& request, StepHolding free) {
  StepRoom room = whole;
  room.free = std::move(free);
  keep_model(room.inventory, request.devices.model, room.free);
  return room;
}

std::int32_t room_for(const StepRoom& room, const StepRequest& request, bool by_cores) {
  constexpr std::int32_t kEnough = std::numeric_limits<std::int32_t>::max() / 4;
  std::int32_t tasks = kEnough;
  if (request.tasks_per_node > 0) tasks = request.tasks_per_node;
  const auto cores = static_cast<std::int32_t>(room.free.cores.size());
  if (request.exact) {
    // With overcommit one core is enough for all of them.
    tasks = std::min(
        tasks, request.overcommit ? std::min(cores, 1) * kEnough : cores / cores_of_task(request));
  } else if (request.tasks_per_node == 0 && !request.overcommit) {
    tasks = slots(*room.placement);
    if (by_cores) tasks = std::max(tasks, cores / cores_of_task(request));
  }
  tasks = std::min(tasks, tasks_by_devices(room, request, kEnough));
  const std::int64_t memory_bytes = room.placement->memory_bytes;
  if (memory_bytes > 0 && request.memory_bytes > room.free.memory_bytes) return 0;
  if (memory_bytes > 0 && request.memory_per_core_bytes > 0) {
    const std::int64_t of_task = request.memory_per_core_bytes * cores_of_task(request);
    tasks =
        static_cast<std::int32_t>(std::min<std::int64_t>(tasks, room.free.memory_bytes / of_task));
  }
  return tasks;
}

std::vector<std::int32_t> device_counts(const std::vector<StepRoom>& rooms,
                                        const std::vector<std::int32_t>& tasks,
                                        const StepRequest& request) {
  const StepDevices& asked = request.devices;
  std::vector<std::int32_t> counts(rooms.size(), 0);
  if (asked.none() || !asked.asked()) return counts;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (asked.per_node) {
      counts[i] = *asked.per_node;
    } else if (asked.per_task) {
      counts[i] = *asked.per_task * tasks[i];
    } else if (asked.tasks_per_device > 0) {
      counts[i] = (tasks[i] + asked.tasks_per_device - 1) / asked.tasks_per_device;
    } else {
      counts[i] = 1;
    }
  }
  const bool spreads =
      asked.total && !asked.per_node && !asked.per_task && asked.tasks_per_device == 0;
  if (spreads) {
    std::int32_t left = *asked.total - static_cast<std::int32_t>(rooms.size());
    for (bool more = left > 0; more;) {
      more = false;
      for (std::size_t i = 0; i < rooms.size() && left > 0; ++i) {
        if (counts[i] >= static_cast<std::int32_t>(rooms[i].free.devices.size())) continue;
        ++counts[i];
        more = --left > 0;
      }
    }
    if (left != 0) return {};
  }
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (counts[i] > static_cast<std::int32_t>(rooms[i].free.devices.size())) return {};
  }
  return counts;
}

StepNode take_room(const StepRoom& room, const StepRequest& request, std::int32_t tasks,
                   std::int32_t devices) {
  const Placement& placement = *room.placement;
  const StepDevices& asked = request.devices;
  StepNode node;
  node.node = placement.node;
  std::vector<DeviceGrant> given;
  if (asked.asked()) {
    given.assign(room.free.devices.begin(), room.free.devices.begin() + devices);
  } else if (request.exact || asked.bind.kind != DeviceBind::Kind::kDefault) {
    given = placement.devices;
  }
  node.devices_given =
      asked.asked() || request.exact || asked.bind.kind != DeviceBind::Kind::kDefault;
  const auto each = static_cast<std::size_t>(cores_of_task(request));
  CoreSet cores;
  if (request.exact) {
    cores = exact_cores(room, each * static_cast<std::size_t>(tasks), given);
  }
  const std::vector<std::int32_t> ids = cores.ids();
  for (std::int32_t k = 0; k < tasks; ++k) {
    TaskGrant grant = split_grant(placement, k, tasks);
    grant.local_rank = k;
    if (request.exact) {
      const std::size_t from = static_cast<std::size_t>(k) * each;
      const bool own = !request.all_cores && from + each <= ids.size();
      grant.cores = cores;
      if (own) {
        grant.cores = CoreSet(
            std::vector<std::int32_t>(ids.begin() + static_cast<std::ptrdiff_t>(from),
                                      ids.begin() + static_cast<std::ptrdiff_t>(from + each)));
      }
    } else if (request.all_cores) {
      grant.cores = placement.cores;
    }
    if (node.devices_given) grant.devices = bound(given, asked, k);
    node.tasks.push_back(std::move(grant));
  }
  node.memory_bytes = std::max(request.memory_bytes,
                               request.memory_per_core_bytes * cores_of_task(request) * tasks);
  if (!request.overlap) {
    node.holding.cores = cores;
    if (asked.asked() || request.exact) node.holding.devices = given;
    if (placement.memory_bytes > 0) node.holding.memory_bytes = node.memory_bytes;
  }
  return node;
}

}  // namespace dove::backends
