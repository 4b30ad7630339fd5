#include "core/place/score.h"

#include <algorithm>

#include "base/check.h"

namespace dove::core {

std::int64_t FreeState::gpus_milli() const {
  std::int64_t sum = 0;
  for (std::int32_t milli : devices_milli) sum += milli;
  return sum;
}

std::int32_t FreeState::whole_devices() const {
  return static_cast<std::int32_t>(
      std::count(devices_milli.begin(), devices_milli.end(), kWholeDevice_milli));
}

FreeState all_free(const NodeClass& node_class) {
  FreeState node;
  node.node_class = node_class;
  node.cpu_milli = node_class.cpu_milli;
  node.memory_bytes = node_class.memory_bytes;
  node.devices_milli.assign(static_cast<std::size_t>(node_class.devices), kWholeDevice_milli);
  return node;
}

std::uint32_t kind_of(const TaskShape& task) {
  if (task.devices == 0) return 0;
  // One bit for a kind of task, by the number of devices: shares all count as one kind.
  return task.is_share() ? 1u : 1u << std::min(task.devices, 31);
}

std::optional<std::int32_t> cuts_anew(const FreeState& node, const TaskShape& task) {
  if (node.node_class.slice_table == kNoTable) return std::nullopt;
  const SliceTable& table = slice_tables()[static_cast<std::size_t>(node.node_class.slice_table)];
  const SliceProfile* profile = find_profile(table, task.slice);
  if (profile == nullptr) return std::nullopt;
  std::int32_t left = task.slices;
  for (std::size_t i = 0; i < node.slots_taken.size() && left > 0; ++i) {
    if (node.slots_taken[i] != 0) left -= slices_left(*profile, node.slots_taken[i]);
  }
  if (left <= 0) return 0;
  const std::int32_t each = slices_left(*profile, 0);
  if (each == 0) return std::nullopt;
  const std::int32_t cut = left / each + (left % each > 0 ? 1 : 0);
  // A device that is shared is closed to slices, however little of it is taken.
  if (cut > node.whole_devices()) return std::nullopt;
  return cut;
}

bool fits(const FreeState& node, const TaskShape& task) {
  if (task.cpu_milli > node.cpu_milli || task.memory_bytes > node.memory_bytes) return false;
  if (!node.takes_more || (task.models >> node.node_class.model & 1) == 0) return false;
  if (task.slices > 0) return cuts_anew(node, task).has_value();
  if (task.devices == 0) return true;
  std::int32_t found = 0;
  // Each share has to have the room on one device: rests of two devices make no whole one.
  for (std::int32_t milli : node.devices_milli) found += std::max(milli, 0) / task.device_milli;
  return found >= task.devices;
}

std::int32_t tightest_device(const FreeState& node, const TaskShape& task) {
  std::int32_t best = kAnyDevice;
  std::int32_t best_milli = 0;
  for (std::size_t i = 0; i < node.devices_milli.size(); ++i) {
    const std::int32_t milli = node.devices_milli[i];
    // The lowest index among equals, as nothing else tells them apart.
    if (milli < task.device_milli || (best != kAnyDevice && milli >= best_milli)) continue;
    best = static_cast<std::int32_t>(i);
    best_milli = milli;
  }
  return best;
}

void allocate(FreeState& node, const TaskShape& task, std::int32_t device) {
  node.cpu_milli -= task.cpu_milli;
  node.memory_bytes -= task.memory_bytes;
  node.hosts |= kind_of(task);
  if (task.devices == 0) return;
  if (task.is_share()) {
    std::int32_t& milli = node.devices_milli[static_cast<std::size_t>(device)];
    CHECK(milli >= task.device_milli, "a share is cut from a device that has room");
    milli -= task.device_milli;
    return;
  }
  std::int32_t left = task.devices;
  // Which whole devices does not matter here: scores look at how much each has, and never at links.
  for (std::int32_t& milli : node.devices_milli) {
    if (left == 0) break;
    if (milli != kWholeDevice_milli) continue;
    milli = 0;
    --left;
  }
  CHECK(left == 0, "whole devices are taken from a node that has them");
}

Score score_of_slices(const Scorer& scorer, const FreeState& node, const TaskShape& task) {
  // Scores stay within this on either side, and each device that is cut is a step of twice as much:
  // four of them, and half a step, are what 64 bits hold.
  constexpr std::int64_t kMost = std::int64_t{1} << 59;
  constexpr std::int64_t kSteps = 4;
  TaskShape cost;
  cost.cpu_milli = task.cpu_milli;
  cost.memory_bytes = task.memory_bytes;
  cost.devices = cuts_anew(node, task).value();
  if (cost.devices > 0) cost.device_milli = kWholeDevice_milli;
  cost.models = task.models;
  Score found = scorer.score(node, cost);
  found.value = std::clamp(found.value, -kMost, kMost) +
                2 * kMost * std::max<std::int64_t>(kSteps - cost.devices, 0);
  found.device = kAnyDevice;
  return found;
}

Score score_of_shares(const Scorer& scorer, FreeState node, const TaskShape& task) {
  TaskShape one = task;
  one.devices = 1;
  one.cpu_milli = task.cpu_milli / task.devices;
  one.memory_bytes = task.memory_bytes / task.devices;
  // What does not divide goes with the first.
  TaskShape first = one;
  first.cpu_milli += task.cpu_milli % task.devices;
  first.memory_bytes += task.memory_bytes % task.devices;
  __int128 sum = 0;
  std::int32_t first_device = kAnyDevice;
  for (std::int32_t i = 0; i < task.devices; ++i) {
    const TaskShape& share = i == 0 ? first : one;
    Score score = scorer.score(node, share);
    if (score.device == kAnyDevice) score.device = tightest_device(node, share);
    allocate(node, share, score.device);
    sum += score.value;
    if (i == 0) first_device = score.device;
  }
  constexpr __int128 kMost = __int128{1} << 62;
  return {static_cast<std::int64_t>(std::clamp(sum, -kMost, kMost)), first_device};
}

}  // namespace dove::core
