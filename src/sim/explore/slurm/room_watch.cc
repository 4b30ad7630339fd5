#include "sim/explore/slurm/room_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "slurm/fences/standing_fences.h"

namespace dove::sim {
namespace {

// The first may have begun just before the job started, the next says so, and the one after that
// that nothing of it is left.
constexpr int kRoomCycles = 4;

std::pair<std::uint64_t, std::uint32_t> key_of(const Oracle::Room& room) {
  return {room.job, room.attempt};
}

bool has_one_of(const slurm::NodeAllocation& held, const std::vector<std::int32_t>& devices) {
  return std::find_first_of(held.devices.begin(), held.devices.end(), devices.begin(),
                            devices.end()) != held.devices.end();
}

}  // namespace

std::string RoomWatch::trouble_of(const Oracle::Room& room) const {
  const slurm::JobSeen* job = slurm_.find_job(static_cast<std::int64_t>(room.foreign));
  if (job == nullptr || job->phase != slurm::JobPhase::kWaiting) {
    return fmt::format("job {} has room for Slurm job {}, which does not wait any more", room.job,
                       room.foreign);
  }
  const std::string& node = slurm_.nodes().at(room.node - 1);
  std::set<std::string> fences;
  for (const std::int32_t device : room.devices) {
    fences.insert(slurm::standing_fence_name(node, device, "dove"));
  }
  for (const slurm::JobSeen* ours : slurm_.ours()) {
    const bool holds = ours->phase == slurm::JobPhase::kHolding &&
                       ours->allocations.front().node == node &&
                       has_one_of(ours->allocations.front(), room.devices);
    const bool waits = ours->phase == slurm::JobPhase::kWaiting && fences.contains(ours->name);
    if (!holds && !waits) continue;
    return fmt::format("job {} has room for Slurm job {} on {}, where {} of ours {} a device of it",
                       room.job, room.foreign, node, ours->name, holds ? "holds" : "waits for");
  }
  return "";
}

void RoomWatch::ends() {
  const std::vector<Oracle::Room> rooms = oracle_.rooms();
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> now;
  for (const Oracle::Room& room : rooms) {
    const bool is_told =
        std::any_of(before_.begin(), before_.end(),
                    [&](const Oracle::Room& before) { return key_of(before) == key_of(room); });
    const std::string trouble = is_told ? trouble_of(room) : "";
    if (trouble.empty()) continue;
    const auto before = cycles_.find(key_of(room));
    const int cycles = (before == cycles_.end() ? 0 : before->second) + 1;
    now[key_of(room)] = cycles;
    if (cycles >= kRoomCycles) {
      oracle_.fail(fmt::format("{}: {} cycles have seen that", trouble, cycles));
    }
  }
  cycles_ = std::move(now);
}

}  // namespace dove::sim
