// What the oracle holds of a scheduler beside us: what it runs, what the ledger has heard of that,
// and for which of its jobs that wait ours make room.
#include <fmt/format.h>

#include <algorithm>

#include "core/state/executors/foreign.h"
#include "sim/explore/oracle.h"

namespace dove::sim {

std::vector<Oracle::Room> Oracle::rooms() const {
  std::vector<Room> all;
  all.reserve(rooms_.size());
  for (const auto& [key, room] : rooms_) all.push_back(room);
  return all;
}

// What it runs and the ledger has heard of is nobody's to give: what began since then may overlap
// with what the ledger gives, which starts nowhere before it is held there.
void Oracle::check_given(const Launch& launch) {
  for (const Placement& placement : launch.placements) {
    for (const DeviceGrant& grant : placement.devices) {
      const auto used = foreign_devices_.find({placement.node.value, grant.device});
      if (used == foreign_devices_.end()) continue;
      const auto since = foreign_since_us_.find(used->second);
      if (since == foreign_since_us_.end() || since->second > told_us_) continue;
      fail(
          fmt::format("job {} is launched on device {} of node {}, which foreign job {} has, as "
                      "the ledger was told",
                      launch.job.value, grant.device, placement.node.value, used->second));
    }
  }
}

void Oracle::keep_room(const Launch& launch, const core::State& state) {
  const JobSpec& spec = *state.find_job(launch.job)->spec;
  if (!core::only_gets_room(state, spec)) return;
  ++rooms_given_;
  Room& room = rooms_[{launch.job.value, launch.attempt}];
  room.job = launch.job.value;
  room.attempt = launch.attempt;
  room.foreign = std::stoull(spec.foreign_job);
  const Placement& place = launch.placements.front();
  room.node = place.node.value;
  for (const DeviceGrant& grant : place.devices) {
    room.devices.push_back(grant.device);
  }
}

void Oracle::forget_rooms(std::uint64_t job) {
  std::erase_if(rooms_, [job](const auto& one) { return one.first.first == job; });
}

void Oracle::foreign_started(const TaskFacts& task) {
  for (const std::int32_t id : task.cores) {
    use_foreign(foreign_cores_, cores_in_use_[task.node], id, task, "core");
  }
  for (const std::int32_t id : task.devices) {
    use_foreign(foreign_devices_, devices_in_use_[task.node], id, task, "device");
  }
  foreign_since_us_[task.foreign] = agenda_.now_us();
  rooms_taken_ +=
      static_cast<std::uint64_t>(std::count_if(rooms_.begin(), rooms_.end(), [&](const auto& one) {
        return one.second.foreign == task.foreign && one.second.node == task.node;
      }));
  foreign_memory_[task.node][task.foreign] = task.memory_bytes;
  check_memory(task.node, fmt::format("foreign job {}", task.foreign));
}

void Oracle::foreign_over(const TaskFacts& task) {
  for (const std::int32_t id : task.cores) foreign_cores_.erase({task.node, id});
  for (const std::int32_t id : task.devices) foreign_devices_.erase({task.node, id});
  foreign_since_us_.erase(task.foreign);
  foreign_memory_[task.node].erase(task.foreign);
}

}  // namespace dove::sim
