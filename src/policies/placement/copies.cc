#include "policies/placement/copies.h"

#include <algorithm>

namespace dove::policies {
namespace {

core::TaskShape size_of(const core::TaskShape& task) {
  core::TaskShape size;
  size.devices = task.devices;
  size.device_milli = task.device_milli;
  return size;
}

}  // namespace

Copies::Copies(std::span<const core::MixEntry> mix) {
  for (const core::MixEntry& it : mix) {
    if (it.shape.devices > 0) sizes_.push_back(size_of(it.shape));
  }
  // Many entries share a size and differ in CPU: the room for a size is worked out once.
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  for (const core::MixEntry& it : mix) {
    if (it.shape.devices == 0) continue;
    const auto size = std::lower_bound(sizes_.begin(), sizes_.end(), size_of(it.shape));
    entries_.push_back({it.shape.cpu_milli, it.shape.gpus_milli() * it.count,
                        static_cast<std::size_t>(size - sizes_.begin())});
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.size < b.size; });
}

// How many tasks of the size the devices have room for once `task` is there. `whole` is how many
// are wholly free then.
std::int64_t Copies::room_of(const core::TaskShape& size, const core::FreeState& node,
                             const core::TaskShape& task, std::int32_t device,
                             std::int64_t whole) const {
  // What is left on a partly free device is of no use to tasks of whole ones.
  if (!size.is_share()) return whole / size.devices;
  std::int64_t room = 0;
  for (std::size_t i = 0; i < node.devices_milli.size(); ++i) {
    std::int32_t milli = node.devices_milli[i];
    if (static_cast<std::int32_t>(i) == device) milli -= task.device_milli;
    room += milli / size.device_milli;
  }
  // Each device that it takes was wholly free, and had room for this number of copies.
  if (!task.is_share()) room -= task.devices * (kWholeDevice_milli / size.device_milli);
  return room;
}

std::int64_t Copies::after(const core::FreeState& node, const core::TaskShape& task,
                           std::int32_t device) const {
  const std::int64_t cpu_milli = node.cpu_milli - task.cpu_milli;
  std::int64_t whole = node.whole_devices();
  if (!task.is_share()) {
    whole -= task.devices;
    // A share on a device that was wholly free opens it.
  } else if (device != core::kAnyDevice &&
             node.devices_milli[static_cast<std::size_t>(device)] == kWholeDevice_milli) {
    --whole;
  }
  std::int64_t sum = 0;
  std::size_t size = sizes_.size();
  std::int64_t room = 0;
  for (const Entry& it : entries_) {
    if (it.size != size) {
      size = it.size;
      room = room_of(sizes_[size], node, task, device, whole);
    }
    if (room == 0) continue;
    // The product may not be needed: CPU lasts in most cases, and then nothing is divided.
    const bool cpu_lasts = room * it.cpu_milli <= cpu_milli;
    sum += it.milli_weight * (cpu_lasts ? room : cpu_milli / it.cpu_milli);
  }
  return sum;
}

}  // namespace dove::policies
